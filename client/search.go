package client

import (
	"context"
	"net/url"

	"example.org/parley"
)

// SearchPage is a page of what a search found, best first.
type SearchPage struct {
	Data     []SearchHit `json:"data"`
	Next     string      `json:"next"`     // cursor of the page behind; "" at the end
	Complete bool        `json:"complete"` // false while the index is being made for the first time
}

// SearchHit is a message that was found, or a session by its title alone.
type SearchHit struct {
	Session FoundSession  `json:"session"`
	Message *FoundMessage `json:"message"` // nil: the title
	Snippet Snippet       `json:"snippet"`
	Score   float64       `json:"score"` // from 0 to 1, of the best hit of the search
}

// FoundSession is where something was found.
type FoundSession struct {
	ID         parley.ID            `json:"id"`
	Title      string               `json:"title"`
	AgentID    parley.ID            `json:"agent_id"`
	ProjectID  parley.ID            `json:"project_id"`
	Status     parley.SessionStatus `json:"status"`
	ArchivedAt parley.Time          `json:"archived_at"`
}

// FoundMessage is what was found.
type FoundMessage struct {
	ID        parley.ID     `json:"id"`
	Sequence  int64         `json:"sequence"`
	Role      parley.Role   `json:"role"`
	Author    parley.Author `json:"author"`
	ToolName  string        `json:"tool_name"`
	CreatedAt parley.Time   `json:"created_at"`
}

// Snippet is a piece of a text, and the stretches in it that were looked for, each
// [from, to) in Unicode code points.
type Snippet struct {
	Text  string   `json:"text"`
	Marks [][2]int `json:"marks"`
}

// Search finds messages and titles. query holds q, and filters as the API has them.
func (c *Client) Search(ctx context.Context, query url.Values) (SearchPage, error) {
	return read[SearchPage](ctx, c, "/v1/search", query)
}
