package commands

import "callgate/gate/tools/internal/wording"

// scriptNames are names of scripts and targets that build or test by convention; a name may continue after ":".
var scriptNames = wording.Set(`build test tests check lint all compile typecheck type-check types tsc format fmt prettier eslint coverage cover unit
	e2e integration bench benchmark dev start serve watch verify validate ci vet docs doc help package assemble classes jar war
	clean bundle generate-docs spec style storybook preview smoke test-compile integration-test
	tasks dependencies projects properties dependency compileJava compileKotlin compileTestJava compileTestKotlin testClasses
	assembleDebug assembleRelease bundleDebug bundleRelease compileDebugKotlin compileReleaseKotlin
	compileDebugJavaWithJavac testDebugUnitTest testReleaseUnitTest lintDebug testOnly testQuick
	ktlintCheck ktlintFormat detekt spotlessCheck spotlessApply checkstyleMain jacocoTestReport`)

// wholeNames do so too if nothing follows: fix:data mends no style.
var wholeNames = wording.Set("analyse analyze bootRun clippy codegen doctest fix html knip mypy phpstan prettify quality quarkusDev typegen")

// scriptParts may stand beside one of scriptKinds in the name of a script that builds or tests part of a project, or
// does so in some manner: test-unit, build_web, generate:types. Words for anything else are not among them.
var scriptParts = wording.Set(`all api app backend bindings browser ci cli client clippy common components conformance core cov coverage crate css
	debug desktop dev doc docs doctest e2e eslint examples fast fe fix fmt format frontend full func functional go golden graphql
	html integration js json lib lint local long markdown mocks mypy node openapi packages parallel parser prettier proto protos
	py pyright python quick quiet race report ruff rules rust schema schemas serial serve server short slow smoke spelling src
	static storybook style styles stylelint system tauri test tests ts types typing ui unit units verbose wasm watch web windows`)

// notScriptParts are parts of names that say, by convention, that a script does more than it begins with: test:db:drop.
var notScriptParts = wording.Set(`codecov delete deploy deployment destroy docker drop migrate netlify nuke publish publishing purge push remove reset
	rollback rollout seed send ship surge truncate upload wipe`)

var scriptKinds = wording.Set("bench build check docs e2e fix fmt format gen generate lint test tests typecheck")

// packageOptions are options of package managers before the name of a script that say for which packages of the project
// it runs, or how much it prints.
var packageOptions = wording.Set("-s --silent -r --recursive -w --workspace -ws --workspaces --workspace-root --if-present -F --filter")

// testReports are options of ScalaTest that make it write files, load classes or send its results.
var testReports = wording.Set("-f -u -h -M -A -b -C -R -k -K -Y")

// targetValues are options of target runners whose value is not a target.
var targetValues = wording.Set("--tests --configuration --property -x --exclude-task -pl --projects -P -T --threads --max-workers -j --jobs -l --load-average -C --directory -p -f --file")
