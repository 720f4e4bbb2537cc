package worker

import (
	"context"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/runner"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// claimed is a claimed turn and what it runs with: all parts of its run share it. One goroutine owns it.
type claimed struct {
	w     *Worker
	claim store.Claim
	fence store.Fence
	lease *lease // under which it was claimed; nil for dry runs, previews and compactions
	// ctx ends with a cancel of the turn, a stop of the process, or the lease.
	ctx context.Context //nolint:containedctx // a turn is one run: its contexts end with it
	// at is ctx within the running step, for its calls and tools.
	at context.Context //nolint:containedctx // as above
	// writes is for store calls: it ends with the lease alone.
	writes context.Context //nolint:containedctx // as above
	author parley.Author
	last   int64 // the record's last sequence, as far as this run has seen

	speaker     runner.Speaker // answers instead of the model; nil: the model answers
	settings    prompt.Settings
	project     string // the project's directory; "" without one
	model       model.Model
	info        model.Info
	layers      prompt.Layers // the middleware around the turn's calls
	definitions prompt.Tools  // the tools that the model is shown
	ttl         parley.CacheTTL

	reserved int64 // of what the process keeps for prompts
	wanted   int64 // of it, when there was no room
	read     int   // bytes that went into the prompt so far
}

// turn is one run of one claimed turn: it decides what comes next, and each of its parts does one kind of work. The
// parts know the claim and the other parts that they name, never the turn. One goroutine owns a turn.
type turn struct {
	*claimed

	position position
	answer   *answer    // the step's complete answer until it is settled; else nil
	calls    []toolCall // calls of the step that need results
	stepping bool       // the observer knows that the step began
	unsure   bool       // an earlier run may have done what the record does not tell

	limits     *limits
	budgets    *budgets
	rules      *rules
	tools      *tools
	requests   *requests
	responses  *responses
	asking     *asking
	shortening *shortening
	until      *until
	outputs    *outputs
	transforms *transforms
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
		outputs:    &outputs{claimed: c},
	}
	t.transforms = &transforms{claimed: c, until: t.until}
	t.budgets = &budgets{claimed: c, limits: t.limits}
	t.tools = &tools{claimed: c, rules: t.rules, outputs: t.outputs}
	t.requests = &requests{
		claimed: c, tools: t.tools, responses: t.responses, shortening: t.shortening, outputs: t.outputs,
		knowledge: &knowledge{claimed: c},
	}
	t.asking = &asking{
		claimed: c, limits: t.limits, budgets: t.budgets, requests: t.requests, responses: t.responses,
		shortening: t.shortening,
	}
	return t
}

// budgets decides what a turn's calls may spend of budgets shared with others, and reserves it.
type budgets struct {
	*claimed

	limits *limits
	chain  parley.ID // the message that began the limited chain that the turn works for; zero for none
	sought bool      // whether chain has been looked up
}

// rules decides which calls run and which must be approved.
type rules struct {
	*claimed

	requesters *requesters
	grants     parley.Grants // the rules about the turn's calls
	accepted   *accepted     // accepted by the session's owner; nil until a call needs it
}

// requesters finds out on whose behalf a turn acts.
type requesters struct{ *claimed }

// tools decides who answers the calls of a turn, runs its tools, and records the results.
type tools struct {
	*claimed

	rules   *rules
	outputs *outputs
	own     []parley.ToolDefinition // the agent's, as the model is shown them
	team    []tool.Tool             // of these, those that the worker offers by itself
	bare    prompt.Tools            // of these alone
	offers  int                     // how many of recallTools are offered beside them
	offered *parley.OfferedTools    // which, and why; nil for none
}

// requests builds the request of each step from the record.
type requests struct {
	*claimed

	tools       *tools
	responses   *responses
	shortening  *shortening
	outputs     *outputs
	knowledge   *knowledge
	keepsInputs bool                  // questions keep their inputs
	fixed       int                   // estimated tokens of the system prompt and the agent's tools; 0: not yet known
	recalling   [offersRecall + 1]int // of so many of recallTools, as far as they may be offered
	cut         parley.TurnCut        // how the latest request shows the turn
	cutKnown    bool                  // an earlier run's is read
	told        int64                 // watchers know that the turn's steps are left out up to here
	known       prompt.Known          // of the turn's results
}

// asking sends requests, collects their answers, and settles them.
type asking struct {
	*claimed

	limits     *limits
	budgets    *budgets
	requests   *requests
	responses  *responses
	shortening *shortening
	answering  *answer // the step's answer; nil before the first
	attempts   int     // model requests of the turn so far
}

// shortening keeps a turn's context within its model's limit, by summaries.
type shortening struct {
	*claimed

	latest     latestRequest           // the context of the latest request
	compacting bool                    // this run has requested a compaction
	overflowed bool                    // a request of this run was too long and was repeated
	waited     bool                    // this run waited for a summary in vain: it waits no more
	wanted     parley.CompactionReason // why the request waits for a summary
	inVain     int64                   // the record's end when this run waited in vain for a summary of its steps
	rests      int64                   // up to this sequence no summary of its steps is begun: one has failed
	late       bool                    // a summary that this run no longer waits for may still come
}

// until decides whether the condition of a loop holds.
type until struct{ *claimed }
