package parley

// Outlook says how near a window is to being shortened, and what leaves it first then.
type Outlook struct {
	Fate string `json:"fate" enum:"stubbed,covered,rule,dropped" doc:"What becomes of the messages that leave: results are shown by their size alone, a summary covers messages, the policy's rule leaves them out, or they are dropped."`
	// Share is of the nearer of the two bounds.
	Share        float64 `json:"share" doc:"How much of the way there is used; 1 when it is due."`
	Tokens       int     `json:"tokens" doc:"Of the window's messages, in the model's own tokens."`
	TokensMost   *int    `json:"tokens_most" doc:"The size in tokens at which it happens; null if none does."`
	Messages     int64   `json:"messages" doc:"In the window, counted as the policy counts."`
	MessagesMost *int64  `json:"messages_most" doc:"The number of messages at which it happens; null if none does."`
	Assumed      bool    `json:"assumed" doc:"Whether the model's length is unknown and assumed."`
	Leaving      Leaving `json:"leaving" doc:"What may leave: whole turns, the oldest first; the newest turn, the first task and pinned messages stay."`
}

// Leaving are the messages that a window loses first.
type Leaving struct {
	Count  int      `json:"count"`
	Tokens int      `json:"tokens"`
	First  []Leaver `json:"first" doc:"The oldest of them, up to 8."`
}

// Leaver is a message that may leave a window.
type Leaver struct {
	MessageID ID    `json:"message_id"`
	Sequence  int64 `json:"sequence"`
	Tokens    int   `json:"tokens"`
}
