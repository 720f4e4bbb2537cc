package store

import (
	"context"
	"time"

	"example.org/parley"
)

// The bounds of searching.
const (
	DefaultHits = 20      // of a page when no limit is given
	MaxHits     = 100     // of a page
	MaxRanked   = 1_000   // matches that are ranked: the newest
	MaxSearched = 200_000 // matches that are looked at for them, when some are left out by what the index does not know

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

// SearchTerm is one thing that is looked for, in words as internal/words prepares
// them.
type SearchTerm struct {
	Words   []string // one, or several that stand behind each other; never empty
	Prefix  bool     // the last of them may go on
	Without bool     // it must not occur
}

// SearchQuery asks for messages, and sessions by their titles, best first. At least
// one term must occur.
type SearchQuery struct {
	Terms                  []SearchTerm
	Roles                  []parley.Role // none: all, and titles
	ToolName               string
	AgentID, ProjectID     parley.ID
	SessionID              parley.ID   // with what it shares, as it reads it
	CreatedFrom, CreatedTo parley.Time // [from, to) of messages; of sessions for titles
	Archived               *bool       // nil: both
	AsOf                   parley.Time // nothing newer; 0: no bound
	AfterID                parley.ID   // of the last hit of the page before; with AfterScore
	AfterScore             float64
	Limit                  int
}

// SearchHit is a message that was found, or a title.
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

// SearchPage is what was found.
type SearchPage struct {
	Hits     []SearchHit
	Best     float64 // the highest score of the whole search
	More     bool
	Complete bool // everything was indexed once; what is new is so within moments
}

// SearchStep is a step of a pass over all sessions, the newest first, which indexes
// what nobody said was new: that of before there was an index, and of processes that
// were killed.
type SearchStep struct {
	Sessions []parley.ID // that hold something to be indexed
	Last     parley.ID   // that was looked at; zero at the end of the pass
}

// SearchIndex keeps the index of words. It is derived from the record: it is made
// beside the transitions, not by them, and can be made anew.
type SearchIndex interface {
	// IndexSessions indexes what sessions hold that is not indexed, at most
	// SearchBatch messages in one transaction, and returns those that may hold more.
	// Sessions that are unknown or deleted are done. Several may run at once.
	IndexSessions(ctx context.Context, sessions []parley.ID) (left []parley.ID, err error)
	// TakeSearchStep takes the step of a pass that is due, for SearchLease; taken is
	// false while none is. What ends without EndSearchStep is taken again then. With
	// anew the next pass is due, if none is under way: for a process that starts.
	TakeSearchStep(ctx context.Context, anew bool) (step SearchStep, taken bool, err error)
	// EndSearchStep says that the sessions of a step are indexed. The next step is due
	// at once, the next pass when rest has gone by.
	EndSearchStep(ctx context.Context, step SearchStep, rest time.Duration) error
	// RebuildSearch forgets the index; a pass, which is due at once, makes it anew.
	RebuildSearch(ctx context.Context) error
}

// Searcher finds messages by their words.
type Searcher interface {
	SearchIndex
	// Search ranks the newest MaxRanked matches that the scope may see, among the newest
	// MaxSearched of the words, role, tool, agent, project and owner: settled
	// messages that are not internal, and titles of sessions in which no message was
	// found among them. A message is shown for the session that wrote it, and if that
	// is gone or the scope does not see it, for the first fork that shares it.
	// CodeNotFound for a SessionID that the scope does not see.
	Search(ctx context.Context, scope Scope, query SearchQuery) (SearchPage, error)
}
