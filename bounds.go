package parley

// The bounds of inputs. Going beyond one is CodeInvalid or CodeTooLarge with
// the bound in the message, never a cut.
const (
	MaxBodyBytes     = 1 << 20   // a request body
	MaxJSONDepth     = 64        // nesting of any JSON that comes from outside
	MaxNameBytes     = 256       // names, slugs, model ids, titles
	MaxKeyBytes      = 512       // session keys, idempotency keys, features, tasks, types
	MaxTextBytes     = 512 << 10 // descriptions, system prompts, instructions
	MaxRenderedBytes = 1 << 20   // a system prompt whose placeholders are filled in
	MaxTags          = 64
	MaxLinks         = 64
	MaxTools         = 128
	MaxMetadataBytes = 64 << 10
	MaxQueued        = 1000    // queued messages of one session
	MaxQueuedBytes   = 4 << 20 // of them: those that steer are shown to one step together

	DefaultPage = 100  // rows of a list when no limit is given
	MaxPage     = 1000 // rows of a list at most

	MaxPageBytes = 8 << 20 // of content in a page of messages or events; the row that reaches it is the last

	MaxAnswerBytes  = 16 << 20 // text, reasoning and arguments of one model answer
	MaxUnkept       = 16 << 10 // of a streaming message, shown to watchers and not yet in the store
	MaxStreamLine   = 4 << 20  // one line of a provider's stream
	TitleRunes      = 80       // a title made from the first message
	CrashLoopLimit  = 3        // deaths, with no step settled between, that a turn may be found guilty of
	MaxSuspects     = 64       // suspected turns that a process runs at once
	PurgeBatch      = 1000     // rows per transaction of a purge
	DefaultMaxSteps = 50       // steps of one turn

	// DefaultMaxSeconds is how long one turn may run, without the time that it waits,
	// where neither its agent nor its session says otherwise: a provider that trickles
	// for ever ends with it.
	DefaultMaxSeconds = 60 * 60
)
