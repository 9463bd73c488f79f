package main

import (
	"slices"
	"strings"

	"wirelab/internal/prereq"
)

// apart are tests of one package that are not run with the packages.
type apart struct {
	dir   string
	tests []string
	limit string // for all of them, as -timeout has it
}

// experiments measure, bring up whole systems of several processes, or run what the pages
// say: together they take more CPU time than any package, and no unit of code is tested
// by them alone.
func experiments() []apart {
	return []apart{
		{dir: "cmd/wirelab", limit: "12m", tests: []string{
			"TestAbsentArm", "TestArrivalsAreShownMadeAndReplayed", "TestCapacityRuns", "TestChaosFindsWhatIsMissing",
			"TestChaosLosesNothing", "TestChaosOfRabbitMQAndOfNoBroker", "TestCompareMessages",
			"TestCompareOverNetwork",
			"TestCompareViaNetem", "TestCurveFindsItsRates", "TestCurveIsHonestInOverload",
			"TestDatabaseIsKilledInMidRun",
			"TestDocServes",       // it builds grpcurl, where that is not installed
			"TestExampleServices", // it fetches packages of Node.js and Go
			"TestExperimentTellsHowFarItIs", "TestExplainMeasures", "TestMessagesAreInterrupted",
			"TestMessagesRunnerIsKilled",
			"TestQueuesOfArms", "TestUpLoggingAPartDies", "TestUpLoggingAll", "TestUpLoggingLosesNothing",
			"TestUpLoggingSweeps", "TestUpMessaging",
		}},
		{dir: "cmd/hermes", limit: "8m", tests: []string{
			"TestDocBlocks", // it builds grpcurl too
			"TestCommandsWithoutMajority", "TestKilledMembers", "TestManySegmentsFewFiles", "TestMembersThatComeAndGo",
			"TestOlderCopyOfADirectory",
			"TestOneDeadLetter", "TestRecoverOfThree", "TestSilentConnections", "TestSlowMember",
			"TestUnfinishedUploads",
		}},
		{dir: "broker/hermes", limit: "5m", tests: []string{"TestNodeKilled"}},
		{
			dir: "lab/messaging/bench", limit: "5m",
			tests: []string{"TestFaultsAreCaughtThroughFailures", "TestNothingIsLost"},
		},
	}
}

// selfTest measures known delays, and needs a machine without other load.
func selfTest() apart {
	return apart{dir: "cmd/wirelab", limit: "12m", tests: []string{"TestSelfTest"}}
}

// step runs the tests apart.
func (a apart) step() step {
	return step{args: []string{"-count=1", "-timeout", a.limit, "-run", pattern(a.tests), "./" + a.dir}, packages: 1}
}

// pattern matches these tests and no others, as -run and -skip want it.
func pattern(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }

// withPackages returns the flags of go test that leave out the tests run separately.
func withPackages() []string {
	left := selfTest().tests
	for _, a := range experiments() {
		left = slices.Concat(left, a.tests)
	}
	return []string{"-skip", pattern(left)}
}

// rest returns the steps that do not run with the packages: go vet, which with an empty cache examines every
// package that ours import; tests that need a network; tests that need a machine without other load; and a separate
// module. They run one after the other, because each would disturb the measurements of the others.
func rest() []step {
	steps := []step{
		{name: "go vet", command: []string{"go", "vet", "./..."}},
		// Tests the files in deploy against the types of Kubernetes and the schema of compose files.
		{dir: "internal/manifests", args: []string{"-count=1", "./..."}, packages: 1},
		{
			name: "build/scripts/openapi", command: []string{"build/scripts/openapi"},
			needs: []prereq.Thing{prereq.Python, prereq.Curl},
		},
		{args: []string{"-count=1", "-timeout", "10m", "./hermes/torture", "-real"}, packages: 1, tell: true},
	}
	for _, a := range experiments() {
		steps = append(steps, a.step())
	}
	return append(steps, selfTest().step())
}
