// Package storetest is the contract of store.Store as tests: every database runs the same suite,
// through the port alone. It owns no rules: the comments of package store are authoritative, and a
// test here that demands something else is wrong.
//
// To add a database, write a test that calls Run with a function that opens an empty store.
package storetest

import (
	"slices"
	"testing"

	"example.org/parley/store"
)

// Open opens a store on an empty database, and closes it at the end of the test.
type Open func(t *testing.T) store.Store

// Run runs the suite: all of it, or the named themes. A database for several processes also runs RunShared.
func Run(t *testing.T, open Open, themes ...string) {
	for name, test := range map[string]func(*testing.T, Open){
		"Posting":            testPosting,
		"Idempotency":        testIdempotency,
		"Queue":              testQueue,
		"Control":            testControl,
		"Resuming":           testResuming,
		"Loops":              testLoops,
		"Claims":             testClaims,
		"Fencing":            testFencing,
		"Steps":              testSteps,
		"Boundaries":         testBoundaries,
		"Tools":              testTools,
		"Children":           testChildren,
		"Cancelling":         testCancelling,
		"Recovery":           testRecovery,
		"Leases":             testLeases,
		"Suspects":           testSuspects,
		"Deletion":           testDeletion,
		"Events":             testEvents,
		"Properties":         testProperties,
		"Chaos":              testChaos,
		"Sessions":           testSessions,
		"Messages":           testMessages,
		"Context":            testContext,
		"TurnLog":            testTurnLog,
		"Agents":             testAgents,
		"Teams":              testTeams,
		"Delegations":        testDelegations,
		"WakeTurns":          testWakeTurns,
		"TeamEnds":           testTeamEnds,
		"Inbox":              testInbox,
		"Schedules":          testSchedules,
		"Pipelines":          testPipelines,
		"Webhooks":           testWebhooks,
		"ToolAuthorizations": testToolAuthorizations,
		"Knowledge":          testKnowledge,
		"Artifacts":          testArtifacts,
		"Edits":              testEdits,
		"Transforms":         testTransforms,
		"Lineage":            testLineage,
		"Projects":           testProjects,
		"Keys":               testKeys,
		"SignIns":            testSignIns,
		"Audit":              testAudit,
		"Clients":            testClients,
		"Gauges":             testGauges,
		"Budgets":            testBudgets,
		"Chains":             testChains,
		"Usage":              testUsage,
		"Responses":          testResponses,
		"Approvals":          testApprovals,
		"Files":              testFiles,
		"Quotas":             testQuotas,
		"Compactions":        testCompactions,
		"Replays":            testReplays,
		"Outside":            testOutside,
		"Shares":             testShares,
		"ForeignIDs":         testForeignIDs,
		"History":            testHistory,
		"Imports":            testImports,
		"Search":             testSearch,
	} {
		if len(themes) > 0 && !slices.Contains(themes, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

// cases runs named tests of one theme, each on its own store.
func cases(t *testing.T, open Open, tests map[string]func(*testing.T, *world)) {
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, open))
		})
	}
}
