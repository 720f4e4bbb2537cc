package worker

import (
	"context"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// claimed is a claimed turn and what it runs with: the ground on which the parts of
// its run stand. It belongs to one goroutine.
type claimed struct {
	w     *Worker
	claim store.Claim
	fence store.Fence
	// ctx ends with a cancel of the turn, a stop of the process, or the lease.
	ctx context.Context //nolint:containedctx // a turn is one run: its contexts end with it
	// at is ctx within the step that runs, for its calls and tools.
	at context.Context //nolint:containedctx // as above
	// writes is for store calls: it ends with the lease alone.
	writes context.Context //nolint:containedctx // as above
	author parley.Author
	last   int64 // the record's last sequence, as far as this run has seen

	speaker     runner.Speaker // that answers in the place of the model; nil: the model does
	settings    prompt.Settings
	project     string // the project's directory, "" without one
	model       model.Model
	info        model.Info
	layers      prompt.Layers // the middleware around its calls
	definitions prompt.Tools  // that the model is shown

	reserved int64 // of what the process keeps for prompts
	read     int   // bytes that went into the prompt so far
}

// turn is one run of one claimed turn: it decides what comes next, and each of its
// parts does one thing of that. The parts know the claim and those of the others
// that they name, never the turn. A turn belongs to one goroutine.
type turn struct {
	*claimed

	place    place
	answer   *answer    // the step's, complete and not yet settled; else nil
	calls    []toolCall // of the step, that need results
	stepping bool       // the observer was told that the step began
	unsure   bool       // of what an earlier run has done

	limits     *limits
	budgets    *budgets
	rules      *rules
	tools      *tools
	requests   *requests
	responses  *responses
	asking     *asking
	shortening *shortening
	until      *until
}

// newTurn joins the parts of a run.
func newTurn(c *claimed) *turn {
	t := &turn{
		claimed:    c,
		limits:     &limits{claimed: c},
		rules:      &rules{claimed: c, requesters: &requesters{c}},
		responses:  &responses{claimed: c},
		shortening: &shortening{claimed: c},
		until:      &until{c},
	}
	t.budgets = &budgets{claimed: c, limits: t.limits}
	t.tools = &tools{claimed: c, rules: t.rules}
	t.requests = &requests{claimed: c, responses: t.responses, shortening: t.shortening}
	t.asking = &asking{
		claimed: c, limits: t.limits, requests: t.requests, responses: t.responses, shortening: t.shortening,
	}
	return t
}

// budgets find out what a turn's calls may spend of what it shares with others, and
// reserve it.
type budgets struct {
	*claimed

	limits *limits
}

// rules decide which calls run, and who is asked about one.
type rules struct {
	*claimed

	requesters *requesters
	grants     parley.Grants // the rules about its calls
	accepted   *accepted     // by the session's owner; nil until a call needs it
}

// requesters finds who asked for what a turn does.
type requesters struct{ *claimed }

// tools finds what answers the calls of a turn, runs it, and records the results.
type tools struct {
	*claimed

	rules *rules
}

// requests builds the request of each step from the record.
type requests struct {
	*claimed

	responses  *responses
	shortening *shortening
	keeps      bool // questions keep what they were made of
	fixed      int  // estimated tokens of the system prompt and the tools; 0: not yet known
}

// asking sends requests, collects their answers, and settles them.
type asking struct {
	*claimed

	limits     *limits
	requests   *requests
	responses  *responses
	shortening *shortening
	answering  *answer // the step's; nil before the first
	attempts   int     // model requests of the turn so far
}

// shortening keeps a turn's context within what its model reads, by summaries.
type shortening struct {
	*claimed

	seen       seen // of the latest request
	compacting bool // this run has asked for a compaction
	overflowed bool // a request of this run was too long, and was made again
}

// until says whether the condition of a loop holds.
type until struct{ *claimed }
