package postgres

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/store"
)

// noticeBytes bounds one notification: PostgreSQL allows 7,999.
const noticeBytes = 7900

// mostFeedBytes bounds one list change in a notification. A larger one is reported as missing.
const mostFeedBytes = 4 << 10

// A notification is a list of lines: a noticeHead, then one item per line, its kind followed by its JSON.
const (
	commitItem   = 'c'
	interestItem = 'i'
	pieceItem    = 'p'
	rawItem      = 'r'
)

// wireID is an id, encoded in 22 characters.
type wireID parley.ID

func (id wireID) MarshalText() ([]byte, error) {
	return base64.RawURLEncoding.AppendEncode(nil, id[:]), nil
}

func (id *wireID) UnmarshalText(text []byte) error {
	if base64.RawURLEncoding.DecodedLen(len(text)) != len(id) {
		return fmt.Errorf("postgres: an id of %d characters", len(text))
	}
	_, err := base64.RawURLEncoding.Decode(id[:], text)
	return err
}

// noticeHead opens each notification.
type noticeHead struct {
	From   wireID `json:"f"`
	N      uint32 `json:"n"`           // number of the sender's notification
	Ask    bool   `json:"a,omitempty"` // every process repeats its interests
	Resync bool   `json:"r,omitempty"` // some notifications were dropped
	Bye    bool   `json:"b,omitempty"` // the sender is ending
}

// commitNotice describes commits to one session, merged.
type commitNotice struct {
	Workspace wireID       `json:"w"`
	Session   wireID       `json:"s,omitzero"`
	Epoch     int64        `json:"e,omitempty"`
	LastEvent int64        `json:"l,omitempty"`
	Ready     bool         `json:"r,omitempty"`
	Outbox    bool         `json:"o,omitempty"`
	Cancel    wireID       `json:"c,omitzero"`
	FeedLost  bool         `json:"x,omitempty"`
	Feed      []feedNotice `json:"d,omitempty"`
}

type feedNotice struct {
	Session    wireID            `json:"s"`
	Type       parley.EventType  `json:"t"`
	Owner      wireID            `json:"o"`
	Visibility parley.Visibility `json:"v"`
	Principal  wireID            `json:"p,omitzero"`
	Data       json.RawMessage   `json:"d,omitempty"`
}

func (c *commitNotice) commit() store.Commit {
	commit := store.Commit{
		WorkspaceID: parley.ID(c.Workspace), SessionID: parley.ID(c.Session), Epoch: c.Epoch, LastEvent: c.LastEvent,
		Ready: c.Ready, Outbox: c.Outbox, Cancel: parley.ID(c.Cancel), FeedLost: c.FeedLost, Remote: true,
	}
	for _, f := range c.Feed {
		commit.Feed = append(commit.Feed, store.FeedEvent{
			WorkspaceID: commit.WorkspaceID, SessionID: parley.ID(f.Session), Type: f.Type,
			OwnerID: parley.ID(f.Owner), Visibility: f.Visibility, PrincipalID: parley.ID(f.Principal), Data: f.Data,
		})
	}
	return commit
}

// merge adds another commit to the session. A session that this process has claimed meanwhile is not ready for others.
func (c *commitNotice) merge(commit *store.Commit) {
	c.Epoch = max(c.Epoch, commit.Epoch)
	c.Ready = c.Ready || commit.Ready
	c.Outbox = c.Outbox || commit.Outbox // a process that runs no turns leaves it to others
	for i := range commit.Events {
		c.LastEvent = max(c.LastEvent, commit.Events[i].Sequence)
		if commit.Events[i].Type == parley.EventSessionStarted {
			c.Ready = false
		}
	}
	if !commit.Cancel.IsZero() {
		c.Cancel = wireID(commit.Cancel)
	}
	for _, f := range commit.Feed {
		if len(f.Data) > mostFeedBytes {
			c.FeedLost = true
			f.Data = nil
			if f.Type != parley.FeedSessionDeleted &&
				f.Type != parley.FeedSessionUpdated { // these also tell who may see the session
				continue
			}
		}
		c.Feed = append(c.Feed, feedNotice{
			Session: wireID(
				f.SessionID,
			),
			Type:       f.Type,
			Owner:      wireID(f.OwnerID),
			Visibility: f.Visibility,
			Principal:  wireID(f.PrincipalID),
			Data:       f.Data,
		})
	}
}

type interestNotice struct {
	Session wireID `json:"s"`
	Pace    int    `json:"p,omitempty"`
	Flush   bool   `json:"f,omitempty"`
	Over    bool   `json:"o,omitempty"`
	Raw     bool   `json:"r,omitempty"`
}

type rawNotice struct {
	Session wireID `json:"s"`
	Turn    wireID `json:"u"`
	Call    wireID `json:"c"`
	Message wireID `json:"m"`
	After   int64  `json:"a"`
	Offset  int64  `json:"o"`
	End     int64  `json:"e"`
	Text    string `json:"t"`
}

func (r *rawNotice) piece() store.RawPiece {
	return store.RawPiece{
		SessionID: parley.ID(r.Session), TurnID: parley.ID(r.Turn), CallID: parley.ID(r.Call),
		MessageID: parley.ID(r.Message), After: r.After, Offset: r.Offset, End: r.End, Text: r.Text,
	}
}

type pieceNotice struct {
	Workspace wireID             `json:"w"`
	Session   wireID             `json:"s"`
	Turn      wireID             `json:"u"`
	Message   wireID             `json:"m"`
	Epoch     int64              `json:"e"`
	After     int64              `json:"a"`
	Kind      parley.ContentKind `json:"k"`
	Offset    int                `json:"o"`
	Text      string             `json:"t,omitempty"`
}

func (p *pieceNotice) piece() store.StreamPiece {
	return store.StreamPiece{
		WorkspaceID: parley.ID(
			p.Workspace,
		),
		SessionID: parley.ID(p.Session),
		TurnID:    parley.ID(p.Turn),
		MessageID: parley.ID(p.Message),
		Epoch:     p.Epoch,
		After:     p.After,
		Kind:      p.Kind,
		Offset:    p.Offset,
		Text:      p.Text,
	}
}

// packer packs items into notifications of at most noticeBytes.
type packer struct {
	head  noticeHead // of the next notification
	texts []string
	now   []byte
}

// add encodes an item into the current notification or the next one; false if it is too large for any.
func add[T any](p *packer, kind byte, item T) bool {
	line, err := parley.EncodeJSON(item)
	if err != nil || len(line) > noticeBytes-noticeHeadBytes {
		return false
	}
	if len(p.now)+2+len(line) > noticeBytes {
		p.end()
	}
	if len(p.now) == 0 {
		p.begin()
	}
	p.now = append(append(append(p.now, '\n'), kind), line...)
	return true
}

// noticeHeadBytes exceeds the size of any head.
const noticeHeadBytes = 128

func (p *packer) begin() {
	p.head.N++
	head, err := parley.EncodeJSON(p.head)
	if err != nil {
		panic(err) // every field can be encoded
	}
	p.now = append(p.now, head...)
	p.head.Ask, p.head.Resync = false, false
}

func (p *packer) end() {
	if len(p.now) > 0 {
		p.texts = append(p.texts, string(p.now))
		p.now = p.now[:0]
	}
}

// addCommit adds the notice of a session. List changes that do not fit are reported as missing.
func (p *packer) addCommit(c *commitNotice) {
	if !add(p, commitItem, *c) {
		c.Feed, c.FeedLost = nil, true
		add(p, commitItem, *c)
	}
}

// addPiece adds a piece of text, split if it is long.
func (p *packer) addPiece(piece *store.StreamPiece) {
	notice := pieceNotice{
		Workspace: wireID(
			piece.WorkspaceID,
		),
		Session: wireID(piece.SessionID),
		Turn:    wireID(piece.TurnID),
		Message: wireID(piece.MessageID),
		Epoch:   piece.Epoch,
		After:   piece.After,
		Kind:    piece.Kind,
		Offset:  piece.Offset,
		Text:    piece.Text,
	}
	for rest := piece.Text; ; {
		notice.Text = rest
		for !add(p, pieceItem, notice) {
			half := halfOf(notice.Text)
			if half == "" {
				return // no text or one rune, neither of which is too large
			}
			notice.Text = half
		}
		notice.Offset += len(notice.Text)
		if rest = rest[len(notice.Text):]; rest == "" {
			return
		}
	}
}

// halfOf returns the first half of a text, in whole runes.
func halfOf(text string) string {
	half := len(text) / 2
	for half > 0 && !utf8.RuneStart(text[half]) {
		half--
	}
	return text[:half]
}

// addRaw adds a piece of unprocessed text, split if it is long: then only its last part moves on in the provider's
// bytes, which differ from those that are shown.
func (p *packer) addRaw(piece *store.RawPiece) {
	for rest := piece.Text; rest != ""; {
		notice := rawNotice{
			Session: wireID(piece.SessionID), Turn: wireID(piece.TurnID), Call: wireID(piece.CallID),
			Message: wireID(piece.MessageID), After: piece.After, Offset: piece.Offset, End: piece.End, Text: rest,
		}
		for !add(p, rawItem, notice) {
			if notice.Text, notice.End = halfOf(notice.Text), piece.Offset; notice.Text == "" {
				return
			}
		}
		rest = rest[len(notice.Text):]
	}
}

// notice is a received notification.
type notice struct {
	noticeHead
	commits []store.Commit
	hints   store.RelayHints
}

// readNotice parses a notification. It skips items of unknown kinds.
func readNotice(payload string) (notice, error) {
	var n notice
	lines := bytes.Split([]byte(payload), []byte{'\n'})
	if err := json.Unmarshal(lines[0], &n.noticeHead); err != nil {
		return n, fmt.Errorf("postgres: a notification cannot be read: %w", err)
	}
	n.hints.Ask = n.Ask
	for _, line := range lines[1:] {
		if len(line) < 2 {
			continue
		}
		var err error
		switch line[0] {
		case commitItem:
			var c commitNotice
			err = json.Unmarshal(line[1:], &c)
			n.commits = append(n.commits, c.commit())
		case interestItem:
			var i interestNotice
			err = json.Unmarshal(line[1:], &i)
			n.hints.Interests = append(
				n.hints.Interests,
				store.Interest{SessionID: parley.ID(i.Session), PaceMS: i.Pace, Flush: i.Flush, Over: i.Over,
					Raw: i.Raw},
			)
		case pieceItem:
			var p pieceNotice
			err = json.Unmarshal(line[1:], &p)
			n.hints.Pieces = append(n.hints.Pieces, p.piece())
		case rawItem:
			var r rawNotice
			err = json.Unmarshal(line[1:], &r)
			n.hints.Raws = append(n.hints.Raws, r.piece())
		}
		if err != nil {
			return n, fmt.Errorf("postgres: an item of a notification cannot be read: %w", err)
		}
	}
	return n, nil
}
