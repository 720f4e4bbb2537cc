package parley

// The bounds of inputs. An input beyond one is refused as CodeInvalid or CodeTooLarge, with the bound in the message,
// and never cut.
const (
	MaxBodyBytes     = 1 << 20   // a request body
	MaxJSONDepth     = 64        // nesting of any JSON from outside
	MaxNameBytes     = 256       // names, slugs, model ids, titles
	MaxKeyBytes      = 512       // session keys, idempotency keys, features, tasks, types
	MaxTextBytes     = 512 << 10 // descriptions, system prompts, instructions
	MaxRenderedBytes = 1 << 20   // a system prompt with its placeholders filled in
	MaxTags          = 64
	MaxLinks         = 64
	MaxTools         = 128
	MaxMetadataBytes = 64 << 10
	MaxQueued        = 1000    // queued messages of one session
	MaxQueuedBytes   = 4 << 20 // of them: those that steer are shown to one step together

	DefaultPage = 100  // rows of a list without a limit
	MaxPage     = 1000 // most rows of a list

	MaxPageBytes = 8 << 20 // of content in a page of messages or events; the row that reaches it is the last

	MaxAnswerBytes  = 16 << 20 // text, reasoning and arguments of one model answer
	MaxUnkept       = 16 << 10 // of a streaming message, shown to watchers but not yet stored
	MaxStreamLine   = 4 << 20  // one line of a provider's stream
	TitleRunes      = 80       // a title made from the first message
	CrashLoopLimit  = 3        // deaths without a settled step in between, after which a turn is blamed
	MaxSuspects     = 64       // suspected turns run by a process at once
	PurgeBatch      = 1000     // rows per transaction of a purge
	DefaultMaxSteps = 50       // steps of one turn

	// DefaultMaxSeconds is how long a turn may run, without its waiting time, if neither its agent nor its session says
	// otherwise: it ends a provider that trickles forever.
	DefaultMaxSeconds = 60 * 60
)
