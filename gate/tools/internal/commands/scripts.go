package commands

import "callgate/gate/tools/internal/wording"

// scriptNames are script and target names that build or test by custom; a name may continue after ":".
var scriptNames = wording.Set(`build test tests check lint all compile typecheck type-check types tsc format fmt prettier eslint coverage cover unit
	e2e integration bench benchmark dev start serve watch verify validate ci vet docs doc help package assemble classes jar war
	clean bundle generate-docs spec style storybook preview smoke test-compile integration-test install-deps deps
	tasks dependencies projects properties dependency compileJava compileKotlin compileTestJava compileTestKotlin testClasses
	assembleDebug assembleRelease bundleDebug testDebugUnitTest testReleaseUnitTest lintDebug testOnly testQuick
	ktlintCheck detekt spotlessCheck checkstyleMain jacocoTestReport`)

// targetValues are options of runners of targets whose value is no target.
var targetValues = wording.Set("--tests --configuration --property -x --exclude-task -pl --projects -P -T --threads --max-workers -j --jobs -l --load-average -C --directory -p -f --file")
