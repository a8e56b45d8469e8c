package shellparse

// The names that inline code may use and still only compute and print. A name that is not here and that the
// code does not bind itself makes the code one that a rule for the words does not cover.
var (
	pythonNames = set("print import from json sys math re datetime time base64 hashlib collections itertools functools string " +
		"random statistics decimal fractions textwrap pprint uuid platform struct unicodedata calendar bisect " +
		"heapq operator enum typing dataclasses csv html urllib parse " +
		"stdin stdout argv load loads dumps dump read readline readlines splitlines split join strip lstrip " +
		"rstrip replace format upper lower startswith endswith encode decode items keys values get append extend " +
		"sort sorted reversed sum min max len range int float str bool list dict set tuple zip map filter any " +
		"all abs round enumerate isinstance type repr chr ord hex bin oct hash id next iter slice bytes " +
		"bytearray " +
		"for in if else elif while not and or is None True False lambda def return pass break continue try " +
		"except finally raise assert with as indent sort_keys ensure_ascii sep end file key reverse default " +
		"version version_info version platform maxsize executable prefix path " +
		"now today utcnow strftime strptime isoformat timedelta date timestamp total_seconds days seconds sqrt " +
		"pi e floor ceil pow log sin cos tan Counter defaultdict most_common OrderedDict namedtuple b64encode " +
		"b64decode md5 sha1 sha256 hexdigest digest findall match search sub compile_re group groups quote " +
		"unquote urlparse urlencode uuid4 python_version pprint safe_load yaml tomllib toml exit Exception " +
		"ValueError KeyError count index title isdigit isalpha zfill ljust rjust center hour minute year month " +
		"day __version__ __name__")
	jsNames = set("console log error info table JSON parse stringify Math Object keys values entries fromEntries assign " +
		"Array from isArray of length map filter reduce reduceRight forEach some every find findIndex indexOf " +
		"lastIndexOf includes join split slice splice concat push pop shift unshift sort reverse flat flatMap " +
		"fill at trim trimStart trimEnd padStart padEnd repeat replace replaceAll toUpperCase toLowerCase charAt " +
		"charCodeAt codePointAt fromCharCode substring startsWith endsWith match test toString toFixed Number " +
		"String Boolean Symbol Date now getTime toISOString getFullYear Set Map has get set add size parseInt " +
		"parseFloat isNaN isInteger isFinite PI E floor ceil round max min abs sqrt pow random trunc sign " +
		"const let var function return if else for in of while do break continue new typeof instanceof null " +
		"undefined true false NaN Infinity try catch finally throw void delete switch case default Error process " +
		"version versions node v8 platform arch memoryUsage uptime hrtime argv Intl BigInt Uint8Array Buffer " +
		"toLocaleString then")
	perlNames = set("print printf say if unless else elsif while until for foreach and or not my our split join map grep " +
		"sort reverse keys values push pop shift unshift length substr index rindex lc uc lcfirst ucfirst chomp " +
		"chop sprintf scalar defined exists delete last next redo return sub BEGIN END s m y tr qw x eq ne lt gt " +
		"le ge cmp $_ $F $a $b $. $1 $2 $3 $4 @F @ARGV %h %s ARGV STDIN STDOUT int abs sqrt hex oct ord chr time " +
		"localtime gmtime undef use strict warnings")
	rubyNames = set("puts print p pp read each map select reject reduce inject sum min max sort sort_by reverse first last " +
		"size length count join split gsub sub strip chomp upcase downcase capitalize to_i to_s to_f to_a to_h " +
		"to_sym keys values each_with_index each_with_object times upto downto step range include? nil true " +
		"false if else elsif unless while until do end def return and or not then case when in self Integer " +
		"Float String Array Hash Time now JSON parse generate pretty_generate require json STDIN ARGF gets lines " +
		"RUBY_VERSION RUBY_PLATFORM new zip flatten uniq compact group_by partition any all none even odd floor " +
		"ceil round abs digits chars bytes")
	phpNames = set("echo print print_r var_dump json_encode json_decode strlen count implode explode array_map array_filter " +
		"array_sum array_keys array_values in_array str_replace substr strtolower strtoupper trim date time " +
		"phpversion PHP_VERSION PHP_EOL PHP_OS true false null if else foreach as for while return function fn " +
		"is_array is_string intval floatval round max min abs sqrt pi md5 sha1 hash base64_encode base64_decode " +
		"urlencode urldecode sprintf printf number_format JSON_PRETTY_PRINT var_export")
	luaNames = set("print string format rep sub upper lower len gsub gmatch match find byte char math floor ceil sqrt pi " +
		"max min abs random table concat insert remove sort unpack pairs ipairs tostring tonumber type local " +
		"function end return if then else elseif for in do while repeat until and or not nil true false _VERSION " +
		"select next")
)

// dangerousNames are never made harmless by being bound: code can bind a module under its own name.
var dangerousNames = set("os system subprocess popen Popen exec execfile eval compile open getattr setattr delattr globals locals " +
	"vars builtins importlib import_module socket requests urlopen ctypes pickle marshal shutil pathlib Path " +
	"pty platform_popen commands " +
	"child_process require spawn spawnSync execSync execFile fork Function constructor prototype fs fetch " +
	"XMLHttpRequest WebAssembly import binding dlopen mainModule Reflect Proxy globalThis global module " +
	"exports vm worker_threads Worker " +
	"qx backtick readpipe unlink rename rmdir mkdir chmod kill syscall do IO File Kernel Dir Process send " +
	"public_send instance_eval class_eval define_method method Object Open3 PTY Net shell_exec passthru " +
	"proc_open pcntl_exec assert include require_once file_put_contents file_get_contents call_user_func " +
	"create_function io loadstring dofile loadfile debug")

// pythonModules are modules that python -m runs without executing or serving anything beyond the project.
var pythonModules = set("pytest unittest json.tool mypy ruff black isort flake8 pylint coverage py_compile compileall tabnanny " +
	"venv pip doctest tox nox sphinx build pyright bandit yapf autopep8 pycodestyle pydocstyle pyflakes ast " +
	"dis tokenize calendar this platform sysconfig site django manage alembic behave nose2 green hypothesis " +
	"towncrier mkdocs pre_commit mdformat docformatter vulture")

// harmlessLibraries can be loaded by -M, -r and -l.
var harmlessLibraries = set("strict warnings utf8 feature POSIX List::Util Data::Dumper JSON::PP Time::HiRes Time::Local Text::Wrap " +
	"Scalar::Util json set time date pp yaml bigdecimal digest securerandom open")
