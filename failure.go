package parley

// ErrorClass groups failures of turns and calls (D9).
type ErrorClass string

// The classes. The first seven come from the model; the others are Parley's own.
const (
	ClassContentFilter ErrorClass = "content_filter"
	ClassRateLimit     ErrorClass = "rate_limit"
	ClassNetwork       ErrorClass = "network"
	ClassAuth          ErrorClass = "auth"
	ClassModel         ErrorClass = "model"
	ClassStream        ErrorClass = "stream"
	ClassContextLength ErrorClass = "context_length"
	ClassInterrupted   ErrorClass = "interrupted" // the process died or lost its claim in the middle
	ClassCrashLoop     ErrorClass = "crash_loop"  // its processes died, and nothing else explains it
	ClassLimit         ErrorClass = "limit"       // a limit of the agent or session
	ClassSchema        ErrorClass = "schema"      // the answer never satisfied the schema that was asked for
	ClassInternal      ErrorClass = "internal"
)

// ErrorClasses lists every class.
func ErrorClasses() []ErrorClass {
	return []ErrorClass{ClassContentFilter, ClassRateLimit, ClassNetwork, ClassAuth, ClassModel, ClassStream,
		ClassContextLength, ClassInterrupted, ClassCrashLoop, ClassLimit, ClassSchema, ClassInternal}
}

// Sentence returns the default explanation of a class for people; agents may replace it (RetryPolicy.Sentences).
func (c ErrorClass) Sentence() string {
	switch c {
	case ClassContentFilter:
		return "The model's provider declined this content. Rephrase the message and try again."
	case ClassRateLimit:
		return "The model's provider is limiting requests. Try again later."
	case ClassNetwork:
		return "The model's provider could not be reached. Check the network and the base URL, then retry."
	case ClassAuth:
		return "The model's provider refused the credentials. Check the provider's API key."
	case ClassModel:
		return "The model's provider could not answer this request. Check the model's name and parameters."
	case ClassStream:
		return "The model's answer broke off before it was complete. Retry to get a whole one."
	case ClassContextLength:
		return "The conversation is longer than the model can read. Use a narrower context policy or a model with a " +
			"longer context."
	case ClassInterrupted:
		return "Parley was interrupted in the middle of this answer."
	case ClassCrashLoop:
		return "Parley gave up on this turn because its process died several times while running it."
	case ClassLimit:
		return "A limit set for this agent or session was reached."
	case ClassSchema:
		return "The model's answer does not satisfy the schema that was asked for. Retry, loosen the schema, or " +
			"choose another model."
	default:
		return "Something went wrong inside Parley. The server's log has the details under this turn's id."
	}
}
