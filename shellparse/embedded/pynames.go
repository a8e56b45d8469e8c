package embedded

import "strings"

// pyModules lists the modules that code may import, with what it may use of them: functions that only compute, tell the
// time or describe this system, and types without methods that do more. A module is no value: code can only use these
// names of it. What opens a file is not here, but in pyOpeners; any
// program may list a folder.
var pyModules = table(`
__future__: print_function division unicode_literals annotations absolute_import
array: array typecodes
ast: literal_eval dump unparse walk iter_child_nodes get_docstring FunctionDef AsyncFunctionDef ClassDef Import ImportFrom Assign Call Name Attribute Constant
base64: b64encode b64decode urlsafe_b64encode urlsafe_b64decode standard_b64encode standard_b64decode b32encode b32decode b16encode b16decode
	a85encode a85decode b85encode b85decode encodebytes decodebytes
binascii: hexlify unhexlify b2a_hex a2b_hex b2a_base64 a2b_base64 crc32 crc_hqx Error
bisect: bisect bisect_left bisect_right insort insort_left insort_right
calendar: calendar month monthrange monthcalendar isleap leapdays weekday timegm month_name month_abbr day_name day_abbr
cmath: exp log log10 sqrt sin cos tan phase polar rect pi e inf nan
codecs: encode decode
collections: Counter defaultdict OrderedDict deque namedtuple ChainMap
colorsys: rgb_to_hsv hsv_to_rgb rgb_to_hls hls_to_rgb
copy: copy deepcopy
csv: reader DictReader writer DictWriter QUOTE_ALL QUOTE_MINIMAL QUOTE_NONE QUOTE_NONNUMERIC excel excel_tab Error
datetime: datetime date time timedelta timezone tzinfo UTC MINYEAR MAXYEAR
decimal: Decimal getcontext localcontext Context ROUND_HALF_UP ROUND_HALF_EVEN ROUND_DOWN ROUND_UP ROUND_FLOOR ROUND_CEILING InvalidOperation
difflib: unified_diff context_diff ndiff SequenceMatcher get_close_matches restore
errno: ENOENT EACCES EEXIST errorcode
fnmatch: fnmatch fnmatchcase filter translate
fractions: Fraction
functools: reduce partial lru_cache cache cmp_to_key
glob: glob iglob escape
gzip: compress decompress
hashlib: md5 sha1 sha224 sha256 sha384 sha512 sha3_224 sha3_256 sha3_384 sha3_512 blake2b blake2s new algorithms_available algorithms_guaranteed
heapq: heappush heappop heapify heapreplace heappushpop nlargest nsmallest merge
hmac: new digest compare_digest
html: escape unescape
importlib.metadata: version PackageNotFoundError
importlib.util:
io: StringIO BytesIO
ipaddress: ip_address ip_network ip_interface IPv4Address IPv4Network IPv6Address IPv6Network collapse_addresses summarize_address_range
itertools: accumulate chain combinations combinations_with_replacement compress count cycle dropwhile filterfalse groupby islice pairwise permutations
	product repeat starmap takewhile tee zip_longest batched
json: load loads dump dumps JSONDecodeError
keyword: kwlist iskeyword
locale: getpreferredencoding
math: acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 expm1 fabs factorial floor fmod frexp
	fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians
	remainder sin sinh sqrt sumprod tan tanh tau trunc ulp
numpy: array asarray arange linspace zeros ones full eye identity empty_like zeros_like ones_like mean median std var min max amin amax sum prod cumsum
	cumprod dot matmul outer sqrt exp log log2 log10 sin cos tan abs absolute floor ceil round clip where argmax argmin argsort sort unique concatenate
	stack vstack hstack reshape transpose allclose isclose isnan isinf isfinite any all nan inf pi e histogram percentile quantile corrcoef diff
	count_nonzero nonzero array_equal frombuffer float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool_
numpy.linalg: norm inv det eig eigh svd solve matrix_rank
numpy.random: seed rand randn randint random uniform normal choice permutation default_rng
operator: add sub mul truediv floordiv mod neg itemgetter eq ne lt le gt ge and_ or_ xor not_ concat contains
os: listdir walk scandir stat lstat getcwd sep linesep cpu_count getpid extsep pathsep name
os.path: join basename dirname splitext split abspath normpath relpath realpath exists lexists isfile isdir islink isabs getsize getmtime getctime
	expanduser commonprefix commonpath sep
pandas: DataFrame Series concat to_datetime to_numeric to_timedelta isna isnull notna notnull date_range Timestamp Timedelta merge cut qcut NA NaT
pathlib: PurePath PurePosixPath
platform: system release machine node python_version python_version_tuple python_implementation
pprint: pprint pformat pp
random: random seed randint randrange uniform choice choices sample shuffle gauss normalvariate getrandbits betavariate expovariate triangular
re: compile match fullmatch search findall finditer split sub subn escape error A ASCII I IGNORECASE M MULTILINE S DOTALL X VERBOSE U UNICODE
secrets: token_hex token_bytes token_urlsafe choice randbelow
shlex: split quote join
shutil: which disk_usage
site: getsitepackages getusersitepackages
statistics: mean fmean median median_low median_high mode multimode stdev pstdev variance pvariance quantiles harmonic_mean geometric_mean
string: ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits punctuation printable whitespace capwords
struct: pack unpack unpack_from calcsize iter_unpack error
sys: argv stdin stdout stderr version version_info hexversion platform executable prefix maxsize maxunicode byteorder exit getsizeof float_info
	int_info implementation getrecursionlimit setrecursionlimit getdefaultencoding getfilesystemencoding set_int_max_str_digits intern
sysconfig: get_path get_paths get_platform get_python_version
textwrap: dedent indent fill wrap shorten
time: time time_ns sleep strftime strptime localtime gmtime mktime ctime asctime perf_counter perf_counter_ns monotonic process_time timezone tzname
tomllib: load loads TOMLDecodeError
torch.backends.mps: is_available is_built
torch.cuda: is_available device_count get_device_name
torch.version: cuda
typing: Any Callable Dict Iterable Iterator List NamedTuple Optional Sequence Set Tuple Union
traceback: print_exc format_exc
unicodedata: name category normalize numeric digit decimal lookup combining bidirectional east_asian_width unidata_version
urllib.parse: quote unquote quote_plus unquote_plus urlencode urlparse urlsplit urlunparse urlunsplit urljoin parse_qs parse_qsl
uuid: uuid3 uuid4 uuid5 UUID NAMESPACE_DNS NAMESPACE_URL
warnings: filterwarnings simplefilter
xml.etree.ElementTree: fromstring tostring ParseError
yaml: safe_load safe_load_all safe_dump YAMLError
zipfile: BadZipFile ZIP_DEFLATED ZIP_STORED
zlib: crc32 adler32 compress decompress
zoneinfo: ZoneInfo
`)

// pyPackages lists other packages that code may import to see whether they are there and to ask for their version, and no
// more.
var pyPackages = names(`numpy pandas torch torchvision torchaudio tensorflow keras jax flax sklearn scipy matplotlib seaborn plotly django flask fastapi starlette
	uvicorn gunicorn pydantic pydantic_core sqlalchemy alembic requests httpx aiohttp urllib3 pytest yaml jinja2 markupsafe transformers datasets
	tokenizers accelerate peft trl huggingface_hub sentence_transformers safetensors diffusers fasttext mteb gensim polars pyarrow duckdb PIL openpyxl cv2
	skimage imageio imageio_ffmpeg moviepy streamlit gradio anthropic openai langchain langgraph llama_index tiktoken mcp fastmcp bs4 lxml celery redis
	psycopg psycopg2 pymongo pymysql mysql boto3 botocore docx pptx pypdf PyPDF2 pdfplumber fitz reportlab spacy nltk playwright selenium click typer rich
	tqdm attr attrs networkx sympy statsmodels xgboost lightgbm catboost optuna numba cython pip setuptools wheel packaging pkg_resources certifi
	cryptography jwt jsonschema orjson ujson toml tomli tabulate dotenv gym gymnasium pygame notebook jupyter jupyterlab ipykernel IPython nbformat pexpect
	psutil paramiko faker hypothesis mypy ruff black isort grpc google websockets socketio h5py tables zarr xarray dask ray onnx onnxruntime
	asyncio bz2 concurrent configparser contextlib ctypes curses dataclasses dbm email enum getpass http importlib inspect locale logging lzma
	marshal mmap multiprocessing pickle pty queue select shelve shutil signal smtplib socket sqlite3 ssl subprocess tarfile tempfile threading
	tkinter types unittest urllib venv weakref xml`)

// pyLoads lists modules that Python and its library load when they need them, besides pyModules.
var pyLoads = names(`abc _bootlocale _collections_abc _colorize _compat_pickle _compression _markupbase _osx_support _py_abc _pydatetime _pydecimal _pyio
	_sitebuiltins _strptime _sysconfigdata _weakrefset bz2 codeop concurrent contextlib ctypes dataclasses dis email encodings enum genericpath getopt gettext
	hashlib http importlib inspect linecache logging lzma mimetypes multiprocessing ntpath numbers opcode os pickle posixpath queue quopri
	reprlib selectors signal sitecustomize socket sre_compile sre_constants sre_parse ssl stat stringprep subprocess tempfile threading
	token tokenize types unittest urllib usercustomize weakref xml pyexpat`)

// pyOpeners lists the functions that open what their first argument names. The methods of a Path do.
var pyOpeners = names(`open ast.parse pathlib.Path gzip.open io.open codecs.open zipfile.ZipFile pandas.read_csv pandas.read_json pandas.read_parquet pandas.read_excel
	importlib.util.find_spec xml.etree.ElementTree.parse`)

// pyPathMethods lists the names of pyAttributes that move or copy a file if the value is a Path.
var pyPathMethods = names("replace copy")

// pyBuiltins lists the built-in functions and constants that code may use, and must not assign. Names of exceptions are
// known by their endings.
var pyBuiltins = names(`abs all any ascii bin bool bytearray bytes callable chr complex dict dir divmod enumerate exit filter float format frozenset hasattr
	hash hex id int isinstance issubclass iter len list map max min next object oct ord pow print quit range repr reversed round set slice
	sorted str sum tuple type zip xrange unicode unichr long basestring cmp reduce StopIteration KeyboardInterrupt SystemExit GeneratorExit
	Ellipsis NotImplemented __name__ __file__`)

// pyHidden lists the other built-in names. Code that uses one for something of its own is not recognized either.
var pyHidden = names(`apply aiter anext breakpoint buffer classmethod coerce compile copyright credits delattr eval exec execfile file getattr globals help input
	intern license locals memoryview property raw_input reload setattr staticmethod super vars`)

// pyKeywords lists the keywords that code may use: all but those of classes and of code that waits.
var pyKeywords = names(`False None True and as assert break continue def del elif else except finally for from global if import in is lambda nonlocal not or pass
	raise return try while with yield`)

// pyAttributes lists the names that code may use of any value. None of them leads from data, a function, a file that is
// open or a type in pyModules to anything else, or does more than compute and use that file.
var pyAttributes = names(`__name__ __version__ __doc__ add append appendleft args as_posix as_integer_ratio attr attrib bit_length bit_count body buffer capitalize casefold center clear close
	closed columns conjugate copy count date day days decode denominator difference difference_update digest discard elapsed elements encode
	encoding end endswith errno exists expandtabs extend extendleft fieldnames fileno find findall finditer findtext flush from_bytes fromhex fromisoformat
	fromkeys fromordinal fromtimestamp fullmatch get getroot glob getvalue group groupdict groupindex groups hex hexdigest hosts hour hostname id imag index insert
	intersection intersection_update is_absolute is_dir is_file is_integer is_private isalnum isalpha isascii isatty isdecimal isdigit isdisjoint isidentifier islower
	isnumeric isocalendar isoformat isoweekday isprintable isspace issubset issuperset istitle isupper items iter iterdir itertext join keys lastgroup limit_denominator lineno ljust lower lstrip
	maketrans major match microsecond micro minor minute month most_common module move_to_end msg name names netloc network_address new_child now num_addresses
	numerator nlargest node offset params parent parents parts partition path pattern pop popitem popleft port pos prec prefixlen ratio read readable
	readline readlines real reconfigure release remove removeprefix removesuffix replace resolve reverse rfind rglob rindex rjust rotate rpartition rsplit rstrip scheme
	search second seconds seek setdefault sort span split splitlines st_mode st_mtime st_size start startswith stat stem step stop string strftime strip strptime sub subn
	subtract suffix suffixes swapcase symmetric_difference symmetric_difference_update tag tail targets tell text timestamp timetuple title to_bytes today toordinal total
	total_seconds translate tzinfo tzname union update upper utc utcfromtimestamp utcnow utcoffset value values weekday with_name with_suffix write
	writelines writerow writerows writeheader year zfill`)

// pyStores lists the names of attributes that code may assign to.
var pyStores = names("columns index prec text")

// pyDataAttributes lists more of them, of tables and matrices.
var pyDataAttributes = names(`T all any argmax argmin argsort astype between clip columns contains corr cumsum describe drop drop_duplicates dropna dt dtype dtypes duplicated
	empty fillna file_size filelist filename first flatten groupby head idxmax idxmin iloc infolist info isin isna isnull item iterrows itertuples
	last loc max mean median merge min namelist nbytes ndim nlargest notna notnull nsmallest nunique quantile ravel reset_index select_dtypes shift reshape round sample
	set_index shape size sort_index sort_values std str sum tail to_dict to_list to_numpy tobytes tolist transpose unique value_counts var`)

// table reads lines of a key and its words. A line that begins with a tab goes on.
func table(text string) map[string]map[string]bool {
	t := map[string]map[string]bool{}
	for _, line := range strings.Split(strings.ReplaceAll(strings.Trim(text, "\n"), "\n\t", " "), "\n") {
		key, words, _ := strings.Cut(line, ":")
		t[key] = names(words)
	}
	return t
}
