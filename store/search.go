package store

import (
	"context"
	"time"

	"example.org/parley"
)

// Bounds of the search.
const (
	DefaultHits = 20      // hits per page without a limit
	MaxHits     = 100     // hits per page
	MaxRanked   = 1_000   // newest matches that are ranked
	MaxSearched = 200_000 // matches examined for them, if filters that the index does not know leave some out

	// SearchTime is how long a search may take.
	SearchTime = 10 * time.Second
	// SearchTextBytes is how much of a message's content is read for what is shown of it.
	SearchTextBytes = 256 << 10
	// SearchReadBytes bounds the contents longer than that of one search: a database that
	// reads a value whole to tell its beginning leaves out the text of those beyond.
	SearchReadBytes = 32 << 20

	SearchBatch      = 64          // messages that are indexed in one transaction at most
	SearchBatchBytes = 64 << 10    // of their text; the one that reaches it is the last
	SearchSweep      = 1_000       // sessions that one step of a pass looks at
	SearchBehind     = 64          // of them that it names; then it ends
	SearchLease      = time.Minute // that a step of a pass is one process's
)

// SearchTerm is one term of a query, in words as internal/words prepares them.
type SearchTerm struct {
	Words   []string // one or several consecutive words; never empty
	Prefix  bool     // the last word may be a prefix
	Without bool     // the term must not occur
}

// SearchQuery asks for messages, and for sessions by title, best first. At least one term must occur.
type SearchQuery struct {
	Terms                  []SearchTerm
	Roles                  []parley.Role // none: all, and titles
	ToolNames              []string      // none: any
	AgentIDs, ProjectIDs   []parley.ID   // none: any
	SessionID              parley.ID     // including history that it shares with its parent
	CreatedFrom, CreatedTo parley.Time   // [from, to) of messages; of sessions for titles
	Archived               *bool         // nil: both
	AsOf                   parley.Time   // leave out newer messages; 0: no bound
	AfterID                parley.ID     // last hit of the previous page; set together with AfterScore
	AfterScore             float64
	Limit                  int
}

// SearchHit is a found message or title.
type SearchHit struct {
	ID      parley.ID    // of the message, or of the session
	Score   float64      // of this query: comparable between hits
	Session FoundSession // that it is shown for
	Message *Found       // nil for a title
}

// FoundSession is what a search reads of a session.
type FoundSession struct {
	ID, AgentID, ProjectID parley.ID
	Title                  string
	Status                 parley.SessionStatus
	ArchivedAt             parley.Time
}

// Found is what a search reads of a message.
type Found struct {
	ID        parley.ID
	Sequence  int64
	Role      parley.Role
	Author    parley.Author
	ToolName  string
	CreatedAt parley.Time
	// Text is the beginning of what was searched, as far as the first SearchTextBytes of the
	// content hold it; "" of a content that was not read.
	Text string
}

// SearchPage is one page of hits.
type SearchPage struct {
	Hits     []SearchHit
	Best     float64 // the highest score of the whole search
	More     bool
	Complete bool // a full pass has been made; new messages follow within moments
}

// SearchStep is a step of a pass over all sessions, newest first. A pass indexes what no commit announced: messages
// older than the index, and those of killed processes.
type SearchStep struct {
	Sessions []parley.ID // that have something to index
	Last     parley.ID   // last session examined; zero at the end of the pass
}

// SearchIndex maintains the index of words. It is derived from the record, written beside the transitions rather than
// by them, and can be rebuilt.
type SearchIndex interface {
	// IndexSessions indexes unindexed messages of sessions, at most SearchBatch in one transaction, and returns the
	// sessions that may have more. Unknown and deleted sessions count as done. Several may run at once.
	IndexSessions(ctx context.Context, sessions []parley.ID) (left []parley.ID, err error)
	// TakeSearchStep takes the due step of a pass for SearchLease; taken is false if none is due. A step without
	// EndSearchStep becomes due again after that. startPass makes the next pass due if none is under way; a starting
	// process sets it.
	TakeSearchStep(ctx context.Context, startPass bool) (step SearchStep, taken bool, err error)
	// EndSearchStep reports that the sessions of a step are indexed. The next step is due immediately, the next pass
	// after rest.
	EndSearchStep(ctx context.Context, step SearchStep, rest time.Duration) error
	// RebuildSearch clears the index and makes a pass due that rebuilds it.
	RebuildSearch(ctx context.Context) error
}

// Searcher finds messages by their words.
type Searcher interface {
	SearchIndex
	// Search ranks the newest MaxRanked matches that the scope may see, among the newest MaxSearched matches of words,
	// role, tool, agent, project and owner. Matches are settled messages that are not internal, and titles of sessions
	// without a matching message. A message is shown in the session that wrote it or, if that is gone or hidden from
	// the scope, in the first fork that shares it. CodeNotFound for a SessionID that the scope may not see.
	Search(ctx context.Context, scope Scope, query SearchQuery) (SearchPage, error)
}
