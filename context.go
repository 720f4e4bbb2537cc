package parley

// ContextHead is what may stand before the rows of a window. All of it is settled,
// not internal and not set aside.
type ContextHead struct {
	// Summary is the latest with covers_through that was not set aside and covers
	// something behind the latest context edge; nil without one.
	Summary *Message
	// First is the first user message behind that edge, if the summary covers it.
	First *Message
	// Pinned are the newest MaxPinnedShown pinned messages, as far as they have
	// MaxPinnedBytes together, ascending, each tool call with its result and each result
	// with its call; none that is longer than that, or that was pinned before the context
	// was cleared.
	Pinned []Message
}
