package shellparse

// goBuild are the options that go's building subcommands share.
const goBuild = "-toolexec=x -overlay=x -modfile=x -pkgdir=t -C=d -gcflags=! -asmflags=! -ldflags=! -gccgoflags=! " +
	"-compiler=x -tags= -mod= -p= -buildmode= -installsuffix= -pgo=r -buildvcs? -debug-actiongraph=w -debug-trace=w " +
	"-covermode= -coverpkg= -work -x -n -v -a -race -msan -asan -cover? -trimpath -modcacherw -linkshared -json? "

// goTest are what go test, go vet and go run take besides.
const goTest = "-o=w -exec=x -vettool=x -coverprofile=w -cpuprofile=w -memprofile=w -blockprofile=w -mutexprofile=w " +
	"-trace=w -outputdir=t -artifacts -run= -bench= -benchmem -benchtime= -blockprofilerate= -memprofilerate= " +
	"-mutexprofilefraction= -count= -cpu= -timeout= -parallel= -list= -skip= -shuffle= -fuzz= -fuzztime= " +
	"-fuzzminimizetime= -vet= -fuzzcachedir=t -test.coverprofile=w -test.cpuprofile=w -test.memprofile=w " +
	"-test.blockprofile=w -test.mutexprofile=w -test.trace=w -test.testlogfile=w -test.outputdir=t -test.gocoverdir=t -test.fuzzcachedir=t " +
	"-args -short -failfast -i -c -fullpath -fix -diff"

// npmShared are the options of npm that stand anywhere, npm's own settings among them.
const npmShared = "--prefix,-C=d --local-prefix=d --userconfig=x --globalconfig=x --script-shell=x --shell=x --node-options=x " +
	"--git=x --editor=x --viewer=x --browser=x --init-module=x --node-gyp=x --location,-L=! -g,--global:! --registry,--reg=! " +
	"--proxy=! --https-proxy=! --cache=t --logs-dir=t --cafile=r -w,--workspace= -ws,--workspaces " +
	"--include-workspace-root,-iwr --foreground-scripts --if-present --ignore-scripts --silent,-s -q,--quiet -d -dd -ddd " +
	"--verbose --loglevel= --no-audit --no-fund -y,--yes --offline --prefer-offline --prefer-online --color? --json " +
	"--omit= --include= --otp= --tag= --depth= --dry-run --parseable,-p --long,-l -a,--all "

// bunShared are the options of bun's subcommands.
const bunShared = "--cwd=d -c,--config?x -r,--preload=x --import,--require=x --env-file=r --define=x --conditions= --timeout= " +
	"--rerun-each= -t,--test-name-pattern= --coverage --coverage-reporter= --coverage-dir=t --reporter= " +
	"--reporter-outfile=w -u,--update-snapshots:m --shell=x --filter= --bail? --todo --only --watch --hot -g,--global:! -b,--bun"

// toolRows are build tools, package managers, test runners and clients of services. Building and testing run
// the project's own code; what stands here lets other code in, or sends something out.
var toolRows = []Program{
	// Go.
	{
		Name:    "go",
		Options: "-C=d -h,--help,-version",
		Subcommands: "bug build clean doc env fix fmt generate get help install list mod run test tool vet version work " +
			"telemetry",
		Style: "go",
	},
	{Name: "go build|go install|go get", Options: goBuild + "-o=w -u? -t -d", Style: "go"},
	{Name: "go test", Options: goBuild + goTest, Style: "long"}, // its options may follow the packages
	{Name: "go vet|go fix|go run", Options: goBuild + goTest, Style: "go"},
	{
		Name:    "go list",
		Options: goBuild + "-f= -reuse=r -export -deps -find -m -u -e -test -compiled -versions -retracted",
		Style:   "go",
	},
	{Name: "go doc", Options: "-C=d -http:! -all -c -cmd -short -src -u -ex", Style: "go"},
	{Name: "go version", Options: "-m -v -json", Style: "go", Operands: "r"},
	{Name: "go generate", Effect: "runs the commands of go:generate lines"},
	{Name: "go env", Options: "-w:! -u:! -json -changed", Style: "go"},
	{Name: "go tool", Effect: "starts programs"},
	{Name: "go tool cover", Options: "-func=r -html=r -mode= -o=w -var= -pkgcfg=r -outfilelist=w -V?", Style: "go", Operands: "r"},
	{Name: "go tool nm|go tool objdump|go tool addr2line", Options: "-n -size -sort= -type -s= -gnu -S", Style: "go", Operands: "r"},
	{
		Name: "go mod",
		Options: "-modfile=x -overlay=x -modcacherw -C=d -replace=! -dropreplace= -require= -droprequire= -exclude= " +
			"-dropexclude= -retract= -dropretract= -tool= -droptool= -ignore= -dropignore= -module= -godebug= " +
			"-dropgodebug= -go= -compat= -toolchain=x -reuse=r -o=w -json? -print -fmt -x -v -m -vendor -diff -e",
		Style: "long",
	},
	{Name: "go fmt", Options: "-C=d -mod= -modfile=x -n -x", Style: "go"},
	{Name: "go work", Options: "-C=d -replace=! -use=! -go= -toolchain=x -o=w -v -json -fmt -print -r", Style: "long"},
	{Name: "go clean", Options: "-modcache:! -cache -testcache -fuzzcache -i -n -r -x", Style: "go"},
	{Name: "go telemetry|go bug", Effect: "network"},
	{
		Name: "golangci-lint",
		Options: "-c,--config=x --fix:m -E= -D= --out-format= --timeout= -j= --path-prefix= -v --new-from-rev= " +
			"--output.json.path=w",
	},
	{
		Name:    "staticcheck|gosec|errcheck|revive",
		Options: "-out=w -o=w -config=x -conf=x -checks= -f= -fmt= -tags= -exclude= -ignore= -formatter= -debug.cpuprofile=w -debug.memprofile=w -debug.trace=w",
		Style:   "long",
	},
	{Name: "govulncheck", Options: "-C=d -db=! -mode= -scan= -show= -format= -tags= -json -test", Style: "long"},
	{
		Name: "gotestsum",
		Options: "--raw-command:x --post-run-command=x --junitfile=w --jsonfile=w --jsonfile-timing-events=w --rerun-fails-report=w " +
			"--rerun-fails? --format,-f= --packages= --max-fails= --watch --watch-chdir --debug",
	},
	{
		Name: "ginkgo",
		Options: goBuild + goTest + " -junit-report=w -json-report=w -teamcity-report=w -output-dir=t -output-interceptor-mode= " +
			"-focus= -focus-file= -label-filter= -procs= -compilers= -after-run-hook=x -r -p -keep-going",
		Style: "long",
	},
	// Rust.
	{
		Name: "cargo",
		Options: "--config=x -C=d -Z=! --color= -v,--verbose -vv -q,--quiet --locked --offline --frozen --list --explain= " +
			"-V,--version -h,--help +stable +nightly +beta",
		Subcommands: "add b bench binstall build c check clean clippy config d deny doc expand fetch fix flamegraph fmt generate " +
			"generate-lockfile hack help info init insta install llvm-cov locate-project login logout machete metadata miri new " +
			"nextest outdated owner package pkgid publish r read-manifest remove report rm run rustc rustdoc script search sqlx t " +
			"tarpaulin test tree udeps uninstall update upgrade vendor verify-project version watch xtask yank audit",
	},
	{
		Name: "cargo build|cargo test|cargo check|cargo clippy|cargo bench|cargo run|cargo doc|cargo rustc|cargo fix|" +
			"cargo version|cargo help|cargo locate-project|cargo pkgid|cargo read-manifest|cargo verify-project|" +
			"cargo b|cargo t|cargo c|cargo r|cargo nextest|cargo fmt|cargo tree|cargo metadata|cargo clean|" +
			"cargo update",
		Options: "--config=x -Z=! --manifest-path=o --target-dir=t -p,--package= --exclude= -F,--features= --bin= " +
			"--example= --test= --bench= --profile= -j,--jobs= --target= --color= --message-format= " +
			"--lockfile-path=x --artifact-dir=t --out-dir=t --open:x --bins --lib -r,--release --all-targets " +
			"--all-features --no-default-features --no-run --no-fail-fast --workspace --all -q -v --locked --offline " +
			"--frozen",
	},
	{
		Name: "cargo install|cargo add|cargo publish|cargo login|cargo owner|cargo yank|cargo uninstall|cargo remove|" +
			"cargo new|cargo init|cargo generate|cargo binstall|cargo watch",
		Effect: "changes what is installed or published",
	},
	{
		Name: "rustc",
		Options: "-C,--codegen=x -o=w --out-dir=t -L=x -l=x --extern=x --sysroot=x -Z=x --emit= --crate-type= --edition= " +
			"--target= --cfg=",
		Operands: "r",
	},
	{Name: "rustup", Effect: "changes what is installed or published"},
	// JavaScript.
	{
		Name:        "npm",
		Options:     npmShared + "-v,--version -h,--help",
		Subcommands: "*",
	},
	{
		Name: "npm get|pnpm get|npm run|npm run-script|npm test|npm t|npm tst|npm start|npm stop|npm restart|npm rum|npm urn|" +
			"npm ls|npm list|npm ll|npm la|npm root|npm prefix|npm bin|npm help|npm why|npm explain|npm fund|" +
			"npm query|npm view|npm info|npm show|npm v|npm search|npm outdated|npm ping|npm doctor|npm whoami|" +
			"npm pack|npm shrinkwrap|npm unlink|npm remove|npm r|npm un",
		Options: npmShared + "--pack-destination=t",
	},
	{
		Name: "npm install|npm i|npm add|npm ci|npm update|npm up|npm uninstall|npm rm|npm link|npm rebuild|npm dedupe|" +
			"npm prune|npm audit|npm install-test|npm it|npm cit",
		Options: npmShared + "-D,--save-dev -S,--save -E,--save-exact -O -P -f,--force:! --no-save --legacy-peer-deps " +
			"--package-lock-only --audit-level= --install-links --install-strategy=",
	},
	{
		Name: "npm publish|npm unpublish|npm deprecate|npm login|npm adduser|npm token|npm access|npm owner|" +
			"npm dist-tag|npm team|npm hook|npm org|npm profile|npm star|npm set-script|npm init|npm create|" +
			"npm explore|npm edit|npm set|npm version|npm logout",
		Effect: "changes what is installed or published",
	},
	{Name: "npm config|npm c|npm pkg", Options: npmShared},
	{Name: "pnpm config get|pnpm config list|pnpm config ls|pnpm c get|pnpm c list|pnpm c ls|yarn config get|yarn config list", Options: npmShared},
	{Name: "aws configure get|aws configure list|gcloud auth list|gcloud config get|gcloud config get-value|gcloud config list", Options: "--profile= --project= --account= --configuration= --format="},
	{Name: "gh auth status", Options: "-h,--hostname= -t,--show-token:! -a,--active --json= -q,--jq="},
	{
		Name: "npm config set|npm c set|npm config edit|npm c edit|npm config delete|npm c delete|npm config fix|yarn config set|" +
			"yarn config unset|pnpm config set|pnpm config delete|pnpm c set",
		Effect: "changes what the package manager runs",
	},
	{Name: "npm pkg set|npm pkg delete|npm pkg fix|pnpm pkg set", Effect: "changes package.json"},
	{
		Name: "yarn|pnpm",
		Options: "--cwd=d -C,--dir=d --prefix=d -w,--workspace-root -r,--recursive --filter,-F= --silent,-s --offline " +
			"--prefer-offline --frozen-lockfile --registry=! --use-yarnrc=x --config.= -v,--version -h,--help " +
			"--parallel --stream --color --no-color",
		Subcommands: "*",
	},
	{
		Name: "yarn test|yarn run|yarn list|yarn why|yarn info|yarn licenses|yarn versions|yarn install|pnpm test|pnpm t|pnpm run|" +
			"pnpm list|pnpm ls|pnpm ll|pnpm la|pnpm why|pnpm root|pnpm outdated|pnpm install|pnpm i|pnpm fetch",
		Options: "--cwd=d -C,--dir=d --prefix=d --modules-folder=t --cache-folder=t --store-dir=t --lockfile-dir=t --registry=! " +
			"--use-yarnrc=x --userconfig=x --globalconfig=x --script-shell=x --shell=x --node-options=x --pnpmfile=x " +
			"--global-pnpmfile=x --config.script-shell=x --config.node-options=x --config.userconfig=x --proxy=! " +
			"--https-proxy=! -F,--filter= --depth= --pattern= -r,--recursive -w,--workspace-root -s,--silent --json --long",
	},
	{
		Name: "bun",
		Options: "--cwd=d --silent -b,--bun --config,-c=x --preload,-r=x --inspect? -e,--eval=x -p,--print=x --watch " +
			"--hot -v,--version -h,--help --filter= --env-file=r",
		Subcommands: "*",
	},
	{
		Name:    "bun test|bun pm",
		Options: bunShared,
	},
	{Name: "bun run", Options: bunShared, Style: "posix"},
	{
		Name: "yarn publish|pnpm publish|yarn npm|pnpm login|yarn login|yarn config|pnpm config|yarn plugin|" +
			"yarn create|pnpm create|yarn global|pnpm env|pnpm setup|pnpm store|bun create|bun publish|bun upgrade|" +
			"bun link",
		Effect: "changes what is installed or published",
	},
	{
		Name: "eslint",
		Options: "--rulesdir=x -c,--config=x --plugin=x --resolve-plugins-relative-to=x --parser=x -f,--format=f " +
			"--no-eslintrc --fix:m --fix-dry-run -o,--output-file=w --cache-location=w --cache-file=w --ext= " +
			"--ignore-path=r --ignore-pattern= --rule= --env= --global= --max-warnings= --quiet --cache --init:! " +
			"--stdin --stdin-filename= --flag= --print-config= --concurrency=",
	},
	{
		Name: "prettier",
		Options: "--plugin=x --plugin-search-dir=x --config=x --find-config-path= -w,--write:m --ignore-path=r " +
			"--log-level= --parser= -c,--check -l,--list-different --stdin-filepath= --cache-location=w",
	},
	{
		Name: "jest|react-scripts",
		Options: "-c,--config=x --globalSetup=x --globalTeardown=x --setupFiles=x --setupFilesAfterEnv=x " +
			"--testEnvironment,--env=x --testEnvironmentOptions= --runner=x --reporters=f --transform=x --resolver=x " +
			"--snapshotSerializers=x --testRunner=x --testSequencer=x --preset=x --projects=x --rootDir,--roots=! " +
			"--moduleNameMapper,--modulePaths,--moduleDirectories=x --haste=x --coverageDirectory=t --outputFile=w " +
			"--coverageProvider= --dependencyExtractor=x --prettierPath=x --watchPlugins=x --filter=x " +
			"--testResultsProcessor=x --cacheDirectory=t --globals= -t,--testNamePattern= " +
			"--testPathPattern,--testPathPatterns= -w,--maxWorkers= --testTimeout= --collectCoverageFrom= " +
			"--coverageReporters=f --selectProjects= --shard= --watch --watchAll --coverage --ci -u:m " +
			"--updateSnapshot:m --init:! -i --runInBand --bail? --verbose --silent --passWithNoTests",
	},
	{
		Name: "vitest",
		Options: "-c,--config=x --configLoader= -r,--root,--dir=! --globalSetup=x --setupFiles=x --environment=x " +
			"--reporter,--reporters=f --outputFile=w --pool=f --execArgv=x --runner=x --diff=x --workspace=x --project= " +
			"--snapshotEnvironment=x --snapshotSerializers=x --browser? --coverage? " +
			"--coverage.customProviderModule=x --coverage.provider= --coverage.reportsDirectory=t " +
			"--coverage.reporter=f --sequence.sequencer=x --typecheck? --typecheck.checker=x --typecheck.tsconfig=x " +
			"--poolOptions.forks.execArgv=x --poolOptions.threads.execArgv=x --poolOptions.vmForks.execArgv=x " +
			"--poolOptions.vmThreads.execArgv=x --vmMemoryLimit= --attachmentsDir=t -t,--testNamePattern= " +
			"--maxWorkers= --minWorkers= --testTimeout= --hookTimeout= --retry= --shard= --exclude= --bail= --mode= " +
			"-w,--watch --run --ci -u:m --update:m --ui --open:x --api? --inspect? --inspectBrk? --globals --dom",
	},
	{
		Name: "mocha|ava|tap|nyc|c8|jasmine",
		Options: "-r,--require=x --import=x --loader=x --config=x --package=x --ui,-u=f --reporter,-R=f --opts=x " +
			"-g,--grep= -f,--fgrep= -t,--timeout= --spec= --node-option,-n=x --watch --file=x --helper=x " +
			"--temp-dir=t --report-dir=t",
	},
	{
		Name: "playwright|cypress",
		Options: "-c,--config=x -C,--config-file=x --reporter=f -g,--grep= --project= --output=t -b,--browser=! " +
			"--workers= --update-snapshots:m --ui --headed --debug",
	},
	{
		Name: "tsc",
		Options: "-p,--project,-b,--build=o --outDir=t --outFile=w --declarationDir=t --tsBuildInfoFile=w --rootDir= " +
			"--typeRoots= --types= --plugins=x --target= --module= --noEmit --watch -w --init:! --generateTrace=t " +
			"--generateCpuProfile=w",
		Style: "long",
	},
	{
		Name: "webpack|rollup|vite|esbuild|parcel|gulp|grunt|tsup|next|nuxt|astro|turbo|nx|lerna|babel|postcss|" +
			"stylelint|commitlint|lint-staged|nodemon|pm2|svelte-check|storybook|ng|expo|gatsby",
		Options: "-c,--config=x --plugin=x -p=! --require,-r=x --env= --mode= --output-path=t --outdir=t --outfile=w " +
			"--outDir=t -o=w -d,--dir=! --gulpfile=x --gruntfile=x --custom-syntax=x --custom-formatter=x " +
			"--configuration=! --presets=x --plugins=x --serve? --port= --host?! --open:x --config-basedir=x",
	},
	{
		Name: "deno",
		Options: "-A,--allow-all:! --allow-run?! --allow-write?! --allow-net?! --allow-env?! --allow-ffi?! --allow-sys?! " +
			"--allow-read?! --allow-import?! --unsafely-ignore-certificate-errors?! -c,--config=x --import-map=x " +
			"--preload=x --inspect? --inspect-brk? -q --no-check --reload? --lock= --watch? --node-modules-dir? " +
			"-L,--log-level= -P,--permission-set?!",
	},
	// Python.
	{
		Name: "pytest|py.test",
		Options: "-p=P -c,--config-file=x --rootdir=! --confcutdir=! -o,--override-ini=! --import-mode= " +
			"--junitxml,--junit-xml=w --basetemp=! --log-file=w --resultlog=w --pdbcls=x --pdb -k= -m= " +
			"-n,--numprocesses= --maxfail= --tb= --durations= --cov? --cov-report= --cov-config=x --cache-clear " +
			"--ignore= --ignore-glob= --deselect= -W,--pythonwarnings= --html=w --json-report-file=w --pyargs:! " +
			"--ds=! --dc=! --timeout= --dist= --tx=x --rsyncdir=! --color= --capture= --report-log=w --debug?w " +
			"--pastebin=! -r= -x -v -vv -q -s -l --lf --ff --sw --co,--collect-only -h,--help --version",
	},
	{
		Name: "pip|pip3",
		Options: "--log=w --cache-dir=t --proxy=! --python=x --trusted-host=! --cert=r --isolated -q -v -vv " +
			"--disable-pip-version-check --no-input --no-color --require-virtualenv --no-cache-dir --timeout= " +
			"--retries= -V,--version -h,--help",
		Subcommands: "*",
	},
	{
		Name: "pip install|pip3 install|pip download|pip3 download|pip wheel|pip3 wheel|pip uninstall|pip3 uninstall",
		Options: "-i,--index-url=! --extra-index-url=! -f,--find-links=! -t,--target=t --prefix=t --root=t --src=t " +
			"-r,--requirement=r -c,--constraint=r -e,--editable=o --config-settings,-C=! --global-option=! " +
			"--install-option=! --pre --user -U,--upgrade --no-deps -d,--dest=t -w,--wheel-dir=t --report=w " +
			"--trusted-host=! --proxy=! -y -q --no-build-isolation:! --use-pep517 --no-cache-dir " +
			"--break-system-packages:!",
	},
	{
		Name: "pip list|pip show|pip freeze|pip check|pip help|pip index|pip3 list|pip3 show|pip3 freeze|pip3 check|pip3 help|pip3 index",
		Options: "-i,--index-url=! --extra-index-url=! -f,--find-links=! -r,--requirement=r --path=! --trusted-host=! --proxy=! " +
			"--python=x --log=w --cache-dir=t --cert=r --client-cert=r --exclude= --format= -o,--outdated -u,--uptodate -l " +
			"-e --user --pre --not-required -v -q --files",
	},
	{
		Name: "uv pip list|uv pip show|uv pip freeze|uv pip check|uv pip tree",
		Options: "-p,--python=x --config-file=x --directory=d --project=d --cache-dir=t --target=! --prefix=! --index=! " +
			"--index-url,-i=! --extra-index-url=! --default-index=! -f,--find-links=! --exclude= --format= --package= --depth=",
	},
	{
		Name:    "poetry check|poetry show|poetry version|poetry about|poetry env list|poetry env info",
		Options: "-C,--directory=d -P,--project=d --with= --without= --only= -f,--format= -t,--tree -l,--latest -o,--outdated",
	},
	{Name: "poetry env use|poetry env remove|conda env create|conda env update|conda env remove", Effect: "changes the environment"},
	{Name: "conda list|conda info|conda search", Options: "-p,--prefix= -n,--name= -c,--channel=! --subdir= --export -e -f"},
	{Name: "conda env list|conda env export", Options: "-p,--prefix= -n,--name= -f,--file=w -c,--channel=!"},
	{Name: "pip config|pip3 config|pip debug", Effect: "changes what is installed or published"},
	{
		Name: "mypy|dmypy",
		Options: "--config-file=x --python-executable=x --custom-typeshed-dir=! --install-types:! --cache-dir=t " +
			"--junit-xml=w --html-report=t --xml-report=t --any-exprs-report=t -p,--package= -m,--module= " +
			"-c,--command=c --exclude= --python-version= --plugin=x --shadow-file=! --strict",
	},
	{
		Name:        "ruff",
		Options:     "--config=! --isolated -q,--quiet -v,--verbose -s,--silent --color= -V,--version -h,--help",
		Subcommands: "check format rule config linter clean server analyze version help",
	},
	{
		Name: "ruff check|ruff format|ruff analyze",
		Options: "--config=! --fix:m --unsafe-fixes --fix-only:m -o,--output-file=w --cache-dir=t --select= --ignore= " +
			"--extend-select= --target-version= --line-length= --output-format= --exclude= --stdin-filename= --diff " +
			"--watch -q -n,--no-cache --preview --isolated --statistics --show-files --show-settings --add-noqa:m --exit-zero --exit-non-zero-on-fix --extension= " +
			"--per-file-ignores= --fixable= --unfixable= --ignore-noqa --force-exclude --respect-gitignore --range= --check --output-dir=t --line-ending= --silent,-s -v,--verbose",
		Operands: "r",
		Default:  ".",
	},
	{
		Name: "black|isort|autopep8|yapf|flake8|pylint|bandit|pyright|pyflakes|pycodestyle|pydocstyle|vulture|" +
			"interrogate",
		Options: "--config=x --rcfile=x --load-plugins=x --init-hook=x --plugins=x -i=m --settings-path,--sp=x " +
			"--output-file=w -o=w -q -l,--line-length= -t= --profile= --exclude= --ignore= --select= " +
			"--max-line-length= -p=! --pythonpath=x --project=! -c=! --diff --check",
	},
	{
		Name: "tox|nox",
		Options: "-c,--conf=x --config-file=x --root=! --workdir=t -x,--override=! -f,--noxfile=x -e= -s= -t= -k= " +
			"--installpkg=! --force-dep=! --discover=x -p? --result-json=w",
	},
	{
		Name:    "coverage",
		Options: "--rcfile=x --data-file=w --source= --include= --omit= -m= -o=w -d=t -a -p --branch",
	},
	{
		Name: "poetry|pipenv|pdm|hatch|rye|conda|mamba|uv|pixi",
		Options: "-C,--directory=d -P,--project=d --cache-dir=t -q,--quiet -v,--verbose -n,--no-interaction --no-ansi " +
			"--no-plugins --offline --no-progress --color= --config-file=x --no-config --no-cache -V,--version " +
			"-h,--help -p=! --python= --ansi",
		Subcommands: "*",
	},
	{Name: "twine|flit|keyring", Effect: "changes what is installed or published"},
	// make and its kin.
	{
		Name: "make|gmake",
		Options: "-f,--file,--makefile=x --eval=x -C,--directory=d -I,--include-dir=x -E=x -o,--old-file,--assume-old= " +
			"-W,--what-if,--new-file,--assume-new= -j,--jobs? -l,--load-average,--max-load? -O,--output-sync? " +
			"--shuffle? --debug? --temp-stdin=x -e,--environment-overrides:! -s -k -n -B -t -q -i -r -R -S -p -w -d " +
			"--warn-undefined-variables --no-print-directory --trace --silent --quiet --always-make --dry-run " +
			"--just-print --keep-going",
	},
	{
		Name: "just",
		Options: "-f,--justfile=x -d,--working-directory=d --shell=x --shell-arg=x --chooser=x --dotenv-path=r " +
			"--dotenv-filename=r --set=! -c,--command=x --choose:x --edit:x -e:x --global-justfile,-g:! " +
			"--command-color= --color= -n -q -l,--list --summary",
	},
	{
		Name: "task|rake|invoke|inv|mage|bazel|bazelisk|buck2|pants|ninja|samu|meson|scons|waf|ctest|cpack|tup",
		Options: "-t,--taskfile=x -f,--rakefile=x -d,--dir=d -C=d -r,--require=x -R,--rakelibdir=x -I=x -e,--execute=c " +
			"-E=c --run_under=x --override_repository=x --override_module=x --config=! --bazelrc=x " +
			"--server_javabase=x --host_jvm_args=x -S=! -c,--collection=x -j= -k -v -n --remote_executor=! " +
			"--remote_cache=! --spawn_strategy=! --shell_executable=x --action_env=! --script=x --build-and-test=x " +
			"-T= -L= --test-dir=o --build-dir=o --wrapper=x --gdb-path=x --ninja-args=! --vs-args=! --xcode-args=! --native-file=x " +
			"--cross-file=x --top=o --out=t --buildfile=x --build-file=x --sourcedir=o --builddir=o --directory=d --workdir=d",
	},
	{
		Name: "cmake",
		Options: "-P=x -C=x -E=x -D=v --build=o --install=! -G= -A= -T=x --toolchain=x -S=o -B=t --graphviz=w " +
			"--trace-redirect=w --debugger:! --open=x --preset= --target,-t= --config= -j,--parallel? --prefix=t " +
			"--install-prefix=t --profiling-output=w",
	},
	{
		Name: "gcc|g++|cc|c++|clang|clang++|tcc|icc|gfortran|ld|as|gold|lld|nvcc",
		Options: "-o=w -wrapper=x -fplugin=x -fplugin-arg=x -B=x -specs=x -Xclang=x -Xlinker= -Xpreprocessor= " +
			"-Xassembler= -load=x -I= -L= -l= -D= -U= -include=r -imacros=r -isystem= -iquote= -x= -MF=w -MT= -MQ= " +
			"-T=r --sysroot=! -dumpdir=t -save-temps? -fuse-ld=x -ld-path=x -march= -std= -arch= -framework= " +
			"-target= -print-prog-name= -plugin=x --plugin=x -dynamic-linker=x -rpath= -e=",
		Style:    "long",
		Operands: "r",
	},
	{
		Name: "swiftc|swift-frontend",
		Options: "-load-plugin-library,-load-plugin-executable,-load-resolved-plugin,-plugin-path,-external-plugin-path=x -Xfrontend,-Xllvm,-Xcc,-Xlinker=x " +
			"-ld-path,-tools-directory,-use-ld=x -vfsoverlay=x -o=w -emit-module-path=w -I= -L= -l= -F= -D= -module-name= -sdk= -target= -swift-version=",
		Style:    "long",
		Operands: "r",
	},
	{
		Name: "ghc",
		Options: "-F:x -pgmF,-pgmP,-pgmc,-pgml,-pgma,-pgms,-pgmL,-pgmlo,-pgmlc,-pgmdll,-pgmwindres,-pgmi,-pgmcxx,-pgmlm,-pgmotool=x -fplugin,-fplugin-library=x " +
			"-package-db,-package-env=x -ghcversion-file=x -B=x -e=x --interactive:x --run:x -o,-dyno=w -outputdir,-odir,-hidir,-stubdir,-dumpdir=t -x= -package= -D= -l= -L= -main-is=",
		Style:    "long",
		Operands: "r",
	},
	{Name: "nasm|yasm", Options: "-@=x -o,-l,-MD,-MF,-Z,-L=w -f,-I,-i,-d,-D,-g,-F,-w,-W,-O,-X,-s= -p,-P=r", Operands: "r"},
	{
		Name: "xcodebuild",
		Options: "-project,-workspace,-xcconfig=o -toolchain=x -derivedDataPath,-resultBundlePath,-exportPath,-archivePath,-clonedSourcePackagesDirPath=t " +
			"-scheme= -destination= -configuration= -sdk= -target= -arch=",
		Style: "long",
	},
	// Documentation and checkers.
	{Name: "hugo", Options: "-d,--destination=t -s,--source=d --config,--configDir,--themesDir=x --cacheDir=t -b,--baseURL= -t,--theme= -e,--environment="},
	{Name: "sphinx-build", Options: "-c=x -d,--doctree-dir=t -w,--warning-file=w -D=! -b,--builder= -t,--tag= -j,--jobs= -A="},
	{Name: "mkdocs", Options: "-f,--config-file=x -d,--site-dir=t -t,--theme= -a,--dev-addr="},
	{Name: "jekyll", Options: "-d,--destination=t -s,--source=d -p,--plugins=x -c,--config=x --layouts=x"},
	{Name: "mdbook", Options: "-d,--dest-dir=t --open:x"},
	{Name: "typedoc", Options: "--plugin,--options,--tsconfig,--theme=x --out,--json,--html=t", Style: "long"},
	{Name: "jsdoc", Options: "-c,--configure=x -t,--template=x -d,--destination=t -u,--tutorials=r"},
	{Name: "protoc", Options: "--plugin=x -o,--descriptor_set_out=w --dependency_out=w -I,--proto_path="},
	{Name: "cppcheck", Options: "--addon=x --addon-python=x --clang?x --file-list=l --output-file=w --plist-output=t --cppcheck-build-dir=t --checkers-report=w --project=!"},
	{Name: "clang-tidy", Options: "-load,--load=x --export-fixes=w -fix:m -fix-errors:m --config-file=r -checks= -p=!", Style: "long"},
	{Name: "checkov", Options: "--external-checks-dir=x --external-checks-git=x --config-file=x --output-file-path=t -d,--directory= -f,--file="},
	{Name: "semgrep", Options: "-c,-f,--config=f -o,--output=w --json-output,--sarif-output,--text-output=w -a,--autofix:m -e,--pattern= -l,--lang="},
	{Name: "bats", Options: "-F,--formatter=f --report-formatter=f -o,--output=t --gather-test-outputs-in=t --setup-suite-file=x -f,--filter= -j,--jobs="},
	// JVM, .NET, others.
	{
		Name: "mvn|./mvnw|mvnw|gradle|./gradlew|gradlew|ant|sbt|lein|clj|clojure",
		Options: "-I,--init-script=x -b,--build-file=x -c,--settings-file=x -p,--project-dir=d -g,--gradle-user-home=x " +
			"-f,--file=o -s,--settings=x -gs,--global-settings=x -D=D -P=D --include-build=x -t,--toolchains=x -gt=x " +
			"-l,--log-file=w -lib=x --gradle-distribution-url=x -listener=x -logger=x -java-home=x -J=x -Sdeps=x -e,--eval=c --offline -o -q -B " +
			"-U -T= -pl= -am -x,--exclude-task= --tests= --info --stacktrace --scan:! --console= --continue -X ",
	},
	{
		Name: "java|javac|javadoc|jshell|kotlin|scala",
		Options: "-cp,-classpath,--class-path=! -jar= -agentlib=x -d=t --module-path,-p=! -m= -processor=x " +
			"-processorpath,--processor-path=x -s=t -h=t",
		Style: "long",
	},
	{
		Name: "dotnet",
		Options: "-o,--output=t -p,--property=! -c,--configuration= -f,--framework= -r,--runtime= -v,--verbosity= " +
			"--project=o -s,--source=! --logger=x -l=x -a,--test-adapter-path=x -d,--diag=w --settings=x " +
			"--results-directory=t --roll-forward= --additionalprobingpath=x --additional-deps=x --depsfile=x " +
			"--runtimeconfig=x --no-build --no-restore --filter= -bl?w",
		Style: "long",
	},
	{
		Name: "composer|bundle|gem|mix|cabal|stack|opam|luarocks|cpan|cpanm|dub|swift|zig|nimble|vcpkg|conan|raco|" +
			"rebar3|dart|flutter|pod",
		Options: "-d,--working-dir=d --config=x --gemfile=x -r,--require=x -e,--eval=c --source=! --repository=! " +
			"--with-compiler=x --global:! --script=x --path=! -C=d --plugin=x --package-path,--chdir,--project-file=o --build-file=x",
	},
	{
		Name: "rspec|rubocop|minitest|standardrb|brakeman|reek",
		Options: "-r,--require=x -I=x -O,--options=x -c,--config=x --plugin=x -o,--out=w -f,--format=f " +
			"-a,-A,--autocorrect:m --autocorrect-all:m -e,--example= -t,--tag= --default-path=",
	},
	{
		Name: "phpunit|phpstan|psalm|php-cs-fixer|phpcs|phpcbf|pest|artisan|drush|wp",
		Options: "--bootstrap=x -c,--configuration=x --autoload-file,-a=x --include-path=x --prepend=x --printer=x " +
			"--extensions=x --log-junit=w --coverage-html=t --coverage-clover=w --exec=x --require=x -d=! --filter= " +
			"--rules= --standard=x --level=",
	},
	{
		Name:     "pre-commit",
		Options:  "-c,--config=x --from-ref= --to-ref= --files= -a,--all-files --hook-stage= -v --color=",
		Operands: "",
	},
	// Containers and clusters.
	{
		Name: "docker|podman|nerdctl",
		Options: "--config=x -c,--context= -H,--host=! -l,--log-level= -D,--debug --tls --tlscacert=r --tlscert=r " +
			"--tlskey=r --tlsverify --url=! --connection= --identity=r --root=! --runroot=! --runtime=x " +
			"--hooks-dir=x --conmon=x --module=x --storage-driver= --storage-opt=! --remote -v,--version --help " +
			"-n,--namespace=",
		Subcommands: "apparmor artifact attach auto-update build builder buildx bake checkpoint commit compose config container context cp create " +
			"diff events exec export farm generate healthcheck help history image images import info init inspect ipfs kill kube " +
			"load login logout logs machine manifest mount namespace network node pause play plugin pod port ps pull push quadlet " +
			"rename restart rm rmi run save scout search secret service stack start stats stop swarm system tag top trust umount " +
			"unmount unpause unshare untag update version volume wait",
	},
	{
		Name: "docker compose|podman compose|docker-compose",
		Options: "-f,--file=o -p,--project-name= --profile= --project-directory=o --env-file=r --parallel= --progress= " +
			"--ansi= --compatibility --dry-run --all-resources -H,--host=! --context= --tls --verbose -v,--version",
		Subcommands: "*",
	},
	{Name: "docker run|docker create|podman run|podman create|nerdctl run|nerdctl create", Effect: "container"},
	{
		Name: "docker build|podman build|docker buildx|docker image build",
		Options: "-f,--file=o -o,--output=! --build-arg= -t,--tag= --target= --network=! --secret=! --ssh=! --allow=! " +
			"--cache-from= --cache-to=! --build-context=! -v,--volume=! --iidfile=w --metadata-file=w " +
			"--security-opt=! --device=! --isolation= --runtime=x --push:! --platform= --label= --add-host= " +
			"--progress= --ulimit= --shm-size= --cgroup-parent= --builder=",
	},
	{
		Name: "docker system|docker volume|docker network|docker container|docker image|docker builder|docker context|" +
			"docker plugin|docker swarm|docker service|docker stack|docker node|docker secret|docker config|" +
			"docker trust|docker checkpoint|docker machine|docker pod|docker generate|" +
			"docker play|docker kube",
		Options: "-f,--force:! --volumes:!",
	},
	{
		Name: "docker cp|docker export|docker save|docker import|docker load|docker commit|docker push|docker login|" +
			"docker logout|docker rm|docker rmi|docker kill|docker stop|docker restart|docker update|docker rename|" +
			"docker attach|docker tag|podman cp|podman push|podman rm|podman rmi|docker mount|docker unshare|" +
			"podman save|podman load|podman login",
		Options: "-o,--output=w -i,--input=r -f,--force:! -v,--volumes:! --password= -p= -u=",
	},
	{
		Name: "docker compose ps|docker compose ls|docker compose logs|docker compose config|docker compose images|" +
			"docker compose top|docker compose version|docker compose port|docker-compose ps|docker-compose ls|" +
			"docker-compose logs|docker-compose config|docker-compose images|docker-compose top|" +
			"docker-compose version|docker-compose port",
		Options: "-o,--output=w --filter= --format= -n,--tail= --since= --until= --hash= --index= --protocol= --status= " +
			"--services --images --profiles --variables --volumes --environment:! --lock-image-digests -a -q -f -t",
	},
	{Name: "docker compose down|docker-compose down", Options: "-v,--volumes:! --rmi=! --remove-orphans -t="},
	{
		Name: "docker compose up|docker compose create|docker-compose up|docker compose watch|docker compose cp|" +
			"docker compose rm|docker compose push|docker compose publish",
		Options: "-V,--renew-anon-volumes:! --scale= -t= -d --build --force-recreate --abort-on-container-exit -f:! -v:! " +
			"--wait --pull= --no-deps",
	},
	{
		Name: "docker images|docker ps|docker logs|docker inspect|docker top|docker stats|docker diff|docker port|" +
			"docker version|docker info|docker events|docker history|docker search|docker pull|docker wait",
		Options: "-f= --filter= --format= -n= --tail= --since= --until=",
	},
	{
		Name: "kubectl|oc|k",
		Options: "-n,--namespace= --context= --cluster= --user= --kubeconfig=x -s,--server=! --as=! --as-group=! " +
			"--as-uid=! --token=! --certificate-authority=r --client-certificate=r --client-key=r --cache-dir=t " +
			"--request-timeout= -v,--v= --insecure-skip-tls-verify --tls-server-name= --profile= --profile-output=w " +
			"--password= --username= --warnings-as-errors --match-server-version --disable-compression --kuberc=x",
		Subcommands: "adm alpha annotate api-resources api-versions apply attach auth autoscale certificate cluster-info completion " +
			"config cordon cp create debug delete describe diff drain edit events exec explain expose get help import-image k " +
			"kustomize label login logout logs new-app new-build new-project observe options patch plugin policy port-forward " +
			"process project projects proxy registry replace rollback rollout rsh rsync run scale secrets set start-build status " +
			"tag taint top uncordon version wait whoami cancel-build extract idle image",
	},
	{
		Name: "kubectl get|kubectl describe|kubectl logs|kubectl top|kubectl explain|kubectl api-resources|" +
			"kubectl version|kubectl cluster-info|kubectl diff|kubectl wait|kubectl auth|kubectl config|" +
			"kubectl rollout|kubectl events",
		Options: "--kubeconfig=x -s,--server=! --as=! --token=! -f,--filename=r -k,--kustomize=x -o,--output= " +
			"-l,--selector= --field-selector= -n,--namespace= --context= -c,--container= --sort-by= --tail= --since= " +
			"--template= --raw=! -w -A --show-labels --output-directory=t -L= --subresource=",
	},
	{
		Name: "kubectl apply|kubectl create|kubectl replace|kubectl patch|kubectl edit|kubectl scale|kubectl set|" +
			"kubectl label|kubectl annotate|kubectl expose|kubectl run|kubectl delete|kubectl drain|kubectl cordon|" +
			"kubectl uncordon|kubectl taint|kubectl cp|kubectl port-forward|kubectl proxy|kubectl attach|" +
			"kubectl debug|kubectl certificate|kubectl autoscale|kubectl plugin|kubectl kustomize",
		Effect: "changes the cluster",
	},
	{
		Name: "helm",
		Options: "-n,--namespace= --kube-context= --kubeconfig=x --kube-apiserver=! --kube-token=! --kube-as-user=! " +
			"--registry-config=x --repository-config=x --repository-cache=t --debug --burst-limit= --qps=",
		Subcommands: "completion create delete dep dependency dependencies env fetch get help history hist inspect install lint list ls " +
			"package plugin pull push registry repo rollback search show status template test uninstall un del upgrade verify version",
	},
	{
		Name: "helm install|helm upgrade|helm uninstall|helm delete|helm rollback|helm repo|helm plugin|helm push|" +
			"helm registry|helm test|helm create",
		Effect: "changes the cluster",
	},
	{
		Name: "helm template|helm lint|helm list|helm ls|helm status|helm get|helm history|helm show|helm dependency|" +
			"helm package|helm pull",
		Options: "--post-renderer=x --post-renderer-args=x -f,--values=r --set= --set-file=! --set-string= --output-dir=t " +
			"-o= -d,--destination=t --keyring=r",
	},
	{
		Name:        "terraform|tofu|terragrunt",
		Options:     "-chdir=d -version -help --terragrunt-config=x --terragrunt-working-dir=d --terragrunt-tfpath=x",
		Subcommands: "*",
		Style:       "go",
	},
	{
		Name: "terraform apply|terraform destroy|terraform import|terraform taint|terraform untaint|terraform state|" +
			"terraform force-unlock|terraform login|terraform workspace|terraform console|terraform refresh|" +
			"tofu apply|tofu destroy|tofu import|tofu state|tofu taint|tofu console|tofu workspace|tofu refresh|" +
			"terragrunt apply|terragrunt destroy|terragrunt run-all",
		Effect: "changes infrastructure",
	},
	{
		Name:    "terraform state list|terraform state show|terraform state pull|tofu state list|tofu state show|tofu state pull",
		Options: "-state=r -id= -no-color",
		Style:   "long",
	},
	{
		Name: "terraform init|terraform plan|terraform validate|terraform show|terraform output|terraform fmt|" +
			"terraform providers|terraform version|terraform graph|terraform get|tofu version|tofu graph|tofu providers|tofu init|tofu plan|tofu validate|tofu show|tofu output|tofu fmt",
		Options: "-plugin-dir=x -from-module=x -backend-config=! -out=w -generate-config-out=w -state=r -state-out=w " +
			"-backup=w -var= -var-file=r -target= -destroy:! -reconfigure -migrate-state:! -upgrade -lock= -no-color " +
			"-input= -detailed-exitcode -json -check -recursive -diff -write= -plan=r -type= -module-depth=",
		Style: "long",
	},
	{
		Name: "ansible|ansible-playbook|ansible-galaxy|ansible-pull|ansible-console|ansible-vault|pulumi|vagrant|" +
			"packer|salt|salt-call|puppet|chef-client|chef|knife|cdk|sam|serverless|sls|eb|copilot|flyctl|fly|heroku|" +
			"vercel|netlify|wrangler|firebase|railway|render|doctl|linode-cli|hcloud|scw|openstack|nomad|boundary|" +
			"waypoint|argocd|flux|istioctl|kustomize|skaffold|tilt|eksctl|minikube|kind|k3d|k9s",
		Effect: "changes infrastructure",
	},
	{
		Name: "aws",
		Options: "--profile= --region= --output= --query= --endpoint-url=! --no-verify-ssl --ca-bundle=r --color= " +
			"--no-paginate --no-cli-pager --debug --no-sign-request --cli-read-timeout= --cli-connect-timeout= " +
			"--cli-binary-format= --version",
		Subcommands: "*",
	},
	{
		Name: "gcloud",
		Options: "--project= --account= --configuration= --format= --quiet,-q --verbosity= " +
			"--impersonate-service-account=! --access-token-file=r --flags-file=x --billing-project= --log-http " +
			"--user-output-enabled? --version --region= --zone=",
		Subcommands: "*",
	},
	{
		Name: "gcloud compute ssh|gcloud compute scp|gcloud ssh|gcloud auth|gcloud cloud-shell|gcloud config set|" +
			"gcloud config unset|gcloud alpha|aws configure|aws ssm|aws ecs execute-command|aws sso|az ssh|az login|" +
			"az vm run-command|kubectl config set|kubectl config set-context|kubectl config set-credentials|" +
			"kubectl config use-context|kubectl config delete-context|docker context use|docker context create|" +
			"docker context import|gh gist create|gh gist edit|gh codespace ssh",
		Effect: "changes settings, or runs elsewhere",
	},
	{
		Name:        "az",
		Options:     "--subscription= -o,--output= --query= --only-show-errors --debug --verbose --version",
		Subcommands: "*",
	},
	{
		Name: "gh", Options: "-R,--repo= --hostname=! --version --help",
		Subcommands: "agent-task alias api at attestation auth browse cache co codespace completion config cs ext extension gist " +
			"gpg-key help issue label licenses org pr preview project release repo rs ruleset run search secret skill ssh-key " +
			"status variable version workflow",
	},
	{
		Name: "gh extension|gh alias|gh auth|gh config|gh codespace|gh secret|gh variable|gh ssh-key|gh gpg-key|gh cs|" +
			"gh attestation|gh skill|gh ext",
		Effect: "starts programs or changes credentials",
	},
	{
		Name: "gh api",
		Options: "-X,--method=X -f,--raw-field=F -F,--field=F --input=! -H,--header= -q,--jq= -t,--template= --hostname=! " +
			"--cache= -p,--preview= -i --paginate --slurp --silent",
	},
	{
		Name: "gh pr|gh issue|gh run|gh workflow|gh release|gh repo|gh gist|gh project|gh label|gh cache|gh ruleset|" +
			"gh browse|gh search|gh status|gh org",
		Options: "-F,--body-file=r -b,--body= -t,--title= -R,--repo= --json= -q,--jq= -T,--template= -L,--limit= " +
			"-s,--state= -w,--web:x -D,--dir=t -O,--output=w -B,--base= -H,--head= --notes-file=r -e,--editor:x -c=",
	},
}
