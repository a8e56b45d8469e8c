package embedded

// sqlFunctions lists functions that only compute a value from their arguments, in every database that has them.
var sqlFunctions = names(`count sum avg min max total group_concat string_agg array_agg json_agg jsonb_agg json_object_agg jsonb_object_agg
	json_group_array json_group_object bool_and bool_or every bit_and bit_or bit_xor stddev stddev_pop stddev_samp variance var_pop var_samp corr
	covar_pop covar_samp regr_slope regr_intercept percentile_cont percentile_disc mode median any_value arg_max arg_min approx_count_distinct
	abs round ceil ceiling floor mod div power pow sqrt cbrt exp ln log log10 log2 sign trunc truncate pi degrees radians sin cos tan asin acos atan atan2
	greatest least random rand gcd lcm width_bucket
	lower upper length len char_length character_length octet_length bit_length substr substring trim ltrim rtrim btrim replace concat concat_ws left
	right lpad rpad repeat reverse instr position strpos locate split_part substring_index ascii chr char hex unhex initcap translate overlay quote
	quote_literal quote_ident format printf field elt find_in_set space soundex levenshtein similarity starts_with contains md5 sha1 sha2 sha256
	regexp_replace regexp_matches regexp_match regexp_like regexp_substr regexp_instr regexp_count regexp_split_to_array regexp_split_to_table
	regexp_extract coalesce ifnull nullif iif if nvl isnull cast try_cast convert typeof pg_typeof
	date time datetime julianday unixepoch strftime timediff now curdate curtime utc_timestamp sysdate getdate date_trunc date_part extract datepart
	to_char to_date to_timestamp to_number date_format str_to_date date_add date_sub dateadd adddate subdate datediff date_diff timestampdiff
	timestampadd year quarter month week day hour minute second weekday dayofweek dayofmonth dayofyear dayname monthname yearweek last_day
	unix_timestamp from_unixtime from_days to_days age make_date make_interval justify_days justify_hours epoch clock_timestamp
	json json_extract json_value json_query json_array json_object json_each json_tree json_type json_valid json_array_length json_length json_keys
	json_unquote json_quote json_contains json_contains_path json_search json_depth json_pretty json_extract_path json_extract_path_text
	json_build_object json_build_array json_array_elements json_array_elements_text json_each_text json_object_keys json_typeof json_patch
	jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_path_exists jsonb_path_match
	json_remove json_set json_insert json_replace json_table jsonb json_strip_nulls row_to_json to_json to_jsonb array_to_json jsonb_pretty jsonb_each
	jsonb_each_text jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_object_keys jsonb_typeof jsonb_build_object
	jsonb_build_array jsonb_extract_path jsonb_extract_path_text jsonb_set jsonb_strip_nulls
	row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value grouping
	unnest generate_series generate_subscripts array_length array_position array_to_string string_to_array array_append array_cat cardinality
	array_agg list_value
	version sqlite_version database schema current_database current_schema user current_user session_user last_insert_rowid changes total_changes
	last_insert_id found_rows row_count connection_id
	to_tsvector to_tsquery plainto_tsquery websearch_to_tsquery phraseto_tsquery ts_rank ts_rank_cd ts_headline match against
	pg_size_pretty pg_total_relation_size pg_relation_size pg_table_size pg_indexes_size pg_database_size pg_get_viewdef pg_get_indexdef
	pg_get_constraintdef pg_get_functiondef pg_get_userbyid pg_get_serial_sequence pg_table_is_visible format_type obj_description col_description
	to_regclass has_table_privilege
	pragma_table_info pragma_table_xinfo pragma_index_list pragma_index_info pragma_index_xinfo pragma_foreign_key_list pragma_table_list
	likely unlikely zeroblob values uuid gen_random_uuid any some all exists
	current_date current_time current_timestamp current_datetime localtime localtimestamp current_schemas encode decode to_hex bit_count date_bin
	isfinite unaccent word_similarity cosine_distance has_schema_privilege has_column_privilege has_database_privilege pg_column_size pg_get_expr
	pg_get_triggerdef pg_get_ruledef pg_is_in_recovery pg_postmaster_start_time pg_backend_pid shobj_description
	inet_aton inet_ntoa bin_to_uuid uuid_to_bin strcmp sec_to_time time_to_sec makedate period_diff microsecond json_arrayagg json_objectagg
	isnull charindex datename eomonth getutcdate sysdatetime patindex stuff quotename datefromparts try_convert string_split
	timestamp_trunc timestamp_diff timestamp_add timestamp_sub datetime_trunc datetime_diff datetime_add datetime_sub parse_date parse_timestamp
	parse_datetime format_date format_timestamp format_datetime unix_seconds unix_millis timestamp_seconds timestamp_millis safe_divide safe_cast
	ieee_divide countif logical_and logical_or array_concat approx_quantiles approx_top_count generate_array generate_date_array farm_fingerprint
	to_json_string json_extract_scalar json_extract_array json_value_array array_size parse_json object_construct array_construct to_varchar
	try_to_number try_to_date try_to_timestamp iff zeroifnull nullifzero listagg split convert_timezone flatten
	strptime regexp_full_match list_contains list_distinct list_sort quantile_cont quantile_disc histogram epoch_ms first last list
	tostartofday tostartofhour tostartofminute tostartofmonth tostartofweek tostartofquarter tostartofyear tostartofinterval
	tostartoffiveminutes tostartoftenminutes tostartoffifteenminutes todate todatetime toyear tomonth todayofmonth todayofweek tohour tominute
	toyyyymm toyyyymmdd tounixtimestamp tostring toint32 toint64 touint32 touint64 tofloat64 uniq uniqexact uniqcombined uniqhll12 sumif avgif
	minif maxif uniqif argmin argmax quantile quantiles quantileexact quantiletdigest topk anylast
	grouparray groupuniqarray arrayjoin has hasany hasall empty notempty multiif today
	yesterday formatdatetime formatreadablesize formatreadablequantity formatreadabletimedelta parsedatetimebesteffort lowerutf8 upperutf8
	splitbychar splitbystring jsonextractstring jsonextractint jsonextractfloat jsonextractbool jsonextractraw
	st_distance st_dwithin st_within st_contains st_intersects st_x st_y st_asgeojson st_astext st_point st_makepoint st_setsrid st_area st_length
	st_buffer st_transform st_centroid st_geomfromtext st_geogpoint`)

// sqlParametric lists the functions that take parameters before their arguments in ClickHouse: quantile(0.95)(ms).
var sqlParametric = names(`quantile quantiles quantileexact quantiletdigest topk histogram uniqcombined grouparray`)

// sqlReserved lists words that are not names of tables and columns here, although a database may accept some of them.
// The second half begins a statement of its own in databases that need no semicolon before it.
var sqlReserved = names(`select from where group having order limit offset union except intersect minus into set values with as on using join left
	right full inner outer cross natural and or not in is like ilike rlike regexp glob similar between case when then else end distinct all exists
	for procedure lock fetch window qualify returning collate escape unique primary foreign references check constraint default table
	insert update delete create drop alter truncate merge replace upsert call do exec execute copy load attach detach vacuum pragma grant revoke
	begin commit rollback savepoint declare prepare deallocate handler import export install backup restore shutdown kill purge reconfigure revert
	checkpoint go use print raiserror throw waitfor bulk dbcc deny disable enable openrowset opendatasource openquery goto break continue return if while
	outfile dumpfile explain describe show reset discard listen notify unlisten reindex cluster refresh lateral straight_join`)

// sqlTypes lists the words in names of types.
var sqlTypes = names(`int integer bigint smallint tinyint mediumint int2 int4 int8 hugeint text varchar char character varying nvarchar nchar clob numeric
	decimal real double precision float float4 float8 date time timestamp timestamptz datetime boolean bool json jsonb uuid blob binary varbinary
	signed unsigned regclass interval inet cidr bytea oid name with without zone serial bigserial money tsvector xml bit string longtext mediumtext
	tinytext longblob year`)

// sqlTables lists built-in tables and functions through which a statement reads or writes files.
var sqlTables = names("fsdir zipfile sqlite_dbpage sqlite_dbdata csv lsdir read_csv read_text read_blob duckdb_secrets pg_read_file")

// sqlPragmas lists the pragmas that only report something, sqlPragmasOf those that do so with an argument.
var (
	sqlPragmas = names(`database_list collation_list function_list module_list pragma_list compile_options user_version schema_version page_count
		page_size freelist_count encoding application_id journal_mode foreign_keys integrity_check quick_check foreign_key_check table_list`)
	sqlPragmasOf = names("table_info table_xinfo table_list index_list index_info index_xinfo foreign_key_list")
)

// sqlTableOptions lists words that may follow the columns of a new table.
var sqlTableOptions = names(`strict without rowid engine innodb memory default charset character set collate utf8 utf8mb4 latin1 auto_increment
	comment utf8mb4_unicode_ci utf8mb4_general_ci utf8mb4_0900_ai_ci`)
