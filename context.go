package parley

// ContextHead is what may precede the rows of a window. All of it is settled, not internal and not set aside.
type ContextHead struct {
	// Summary is the latest summary with covers_through that is not set aside and covers something after the latest
	// context edge; nil if there is none.
	Summary *Message
	// First is the first user message after that edge; nil if there is none.
	First *Message
	// Edge is the sequence of the latest context edge; 0: there is none.
	Edge int64
	// Pinned are the newest MaxPinnedShown pinned messages, as far as they have
	// MaxPinnedBytes together, ascending, each tool call with its result and each result
	// with its call; none that is longer than that, or that was pinned before the context
	// was cleared.
	Pinned []Message
}
