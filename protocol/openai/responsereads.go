package openai

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/history"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// retrieve reads a response, or streams it again.
func (a *api) retrieve(x *protocol.Exchange) error {
	query := x.R.URL.Query()
	if query.Get("stream") != "true" {
		r, err := a.response(x, x.R.PathValue("response"))
		if err != nil {
			return err
		}
		free, err := x.Hold(int64(responseHolds * r.size))
		if err != nil {
			return err
		}
		defer free()
		o, err := r.object()
		if err != nil {
			return err
		}
		return send(x, o)
	}
	after := int64(-1)
	if text := query.Get("starting_after"); text != "" {
		var err error
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < 0 {
			return parley.InvalidField("starting_after", "must be the sequence_number of an event")
		}
	}
	end, err := x.Room()
	if err != nil {
		return err
	}
	defer end()
	var w *responding
	stream.Aside(func() { w, err = a.again(x, x.R.PathValue("response"), after) })
	if err != nil {
		return err
	}
	x.W.Header().Set(SessionHeader, w.anchor.SessionID.String())
	w.frames = protocol.NewFrames(x.W)
	return w.answer()
}

// again prepares the stream of a response that exists.
func (a *api) again(x *protocol.Exchange, id string, after int64) (*responding, error) {
	r, err := a.response(x, id)
	if err != nil {
		return nil, err
	}
	w := &responding{response: r, api: a, x: x, after: after, done: map[parley.ID]bool{}}
	if over(r.status()) {
		return w, nil
	}
	w.watch, err = a.streams.Follow(x.R.Context(), x.Principal,
		stream.Turn(r.anchor.SessionID, r.event, r.anchor.TurnID, x.Flush))
	return w, err
}

// cancelResponse stops a response that runs in the background. Cancelling one that is over changes nothing.
func (a *api) cancelResponse(x *protocol.Exchange) error {
	ctx, id := x.R.Context(), x.R.PathValue("response")
	r, err := a.response(x, id)
	if err != nil {
		return err
	}
	if !r.note.Background {
		if r.turn.Status.Finished() { // nothing happens; but who may not cancel turns learns that first
			_, err := a.engine.Cancel(ctx, x.Principal, r.anchor.SessionID, engine.CancelInput{TurnID: r.turn.ID})
			if parley.ErrorCode(err) == parley.CodeForbidden {
				return err
			}
		}
		return parley.Errorf(parley.CodeInvalid, "Cannot cancel a synchronous response.")
	}
	if !over(r.status()) {
		_, err := a.engine.Cancel(ctx, x.Principal, r.anchor.SessionID, engine.CancelInput{TurnID: r.anchor.TurnID})
		switch parley.ErrorCode(err) {
		case parley.CodeNothingToCancel, parley.CodeConflict: // it has just ended
			err = nil
		}
		if err != nil {
			return err
		}
		if r, err = a.response(x, id); err != nil {
			return err
		}
	}
	o, err := r.object()
	if err != nil {
		return err
	}
	return send(x, o)
}

// deletedObject says that something is gone.
type deletedObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// deleteResponse deletes a response. The session goes with it if it holds nothing else; otherwise its messages are set
// aside: the record keeps them, and no model and no client of this protocol sees them again.
func (a *api) deleteResponse(x *protocol.Exchange) error {
	ctx, id := x.R.Context(), x.R.PathValue("response")
	r, err := a.response(x, id)
	if err != nil {
		return err
	}
	session, err := a.engine.Session(ctx, x.Principal, r.anchor.SessionID)
	if err != nil {
		return err
	}
	turns, err := a.engine.Turns(ctx, x.Principal, session.ID, engine.TurnList{Paging: engine.Paging{Limit: 2}})
	if err != nil {
		return err
	}
	if r.name != "" { // its id is that of its session
		if len(turns.Data) > 0 || session.LastSequence != r.anchor.Sequence {
			return parley.Errorf(parley.CodeConflict, "The response has been continued: delete those behind it.")
		}
		if err := a.engine.DeleteSession(ctx, x.Principal, session.ID); err != nil {
			return err
		}
		return send(x, deletedObject{id, "response.deleted", true})
	}
	alone := len(turns.Data) == 1 && !r.note.Conversation && session.ForkedThrough == nil && !r.resumed &&
		r.anchor.ID == r.turn.TriggerMessageID
	if alone {
		err = a.engine.DeleteSession(ctx, x.Principal, session.ID)
		alone = parley.ErrorCode(err) != parley.CodeForbidden // a colleague may set messages aside
	}
	if !alone {
		if !over(r.status()) {
			return parley.Errorf(parley.CodeConflict, "The response is %s: cancel it first.", r.status())
		}
		ids := []parley.ID{}
		for i := range r.rows {
			ids = append(ids, r.rows[i].ID)
		}
		// what says that the response is gone comes last
		err = a.setAside(ctx, x.Principal, session.ID, append(ids, r.anchor.ID)...)
	}
	if err != nil {
		return err
	}
	return send(x, deletedObject{id, "response.deleted", true})
}

// setAside takes messages out of every context, and of this protocol's lists.
func (a *api) setAside(ctx context.Context, principal parley.Principal, session parley.ID, ids ...parley.ID) error {
	for _, id := range ids {
		_, err := a.engine.MarkMessage(ctx, principal, session, id, engine.MarksPatch{SetAside: new(true)})
		if err != nil {
			return err
		}
	}
	return nil
}

// itemList is a page of items.
type itemList struct {
	Object string  `json:"object"`
	Data   []any   `json:"data"`
	First  *string `json:"first_id"`
	Last   *string `json:"last_id"`
	More   bool    `json:"has_more"`
}

// The bounds of a page of items.
const (
	pageOfItems  = 20
	maxItems     = 100
	maxItemPages = history.MaxAnswerPages // of the record, read for one
)

// itemPage is what a client wants of a list of items.
type itemPage struct {
	limit     int
	ascending bool
	after     string // the item before the page; "" for none
}

func pageOf(query url.Values) (itemPage, error) {
	p := itemPage{limit: pageOfItems, ascending: query.Get("order") == "asc", after: query.Get("after")}
	if order := query.Get("order"); order != "" && order != "asc" && order != "desc" {
		return p, parley.InvalidField("order", "must be asc or desc")
	}
	if text := query.Get("limit"); text != "" {
		var err error
		if p.limit, err = strconv.Atoi(text); err != nil || p.limit < 1 || p.limit > maxItems {
			return p, parley.InvalidField("limit", "must lie between 1 and %d", maxItems)
		}
	}
	return p, nil
}

// inputItems lists what a response was asked with, the newest first unless the client says otherwise.
func (a *api) inputItems(x *protocol.Exchange) error {
	page, err := pageOf(x.R.URL.Query())
	if err != nil {
		return err
	}
	r, err := a.response(x, x.R.PathValue("response"))
	if err != nil {
		return err
	}
	rows := append(slices.Clone(r.heard), r.anchor)
	slices.Reverse(rows[:len(r.heard)])
	if r.name != "" && !r.anchor.TurnID.IsZero() { // it added nothing to the response before it
		rows = nil
	}
	paging := engine.Paging{Limit: parley.MaxPage, Order: engine.Descending}
	size := 0
	for before := r.anchor.Sequence - 1; before > 0 && len(rows) < maxMessages && size < maxResponseBytes; {
		read, err := a.engine.Messages(x.R.Context(), x.Principal, r.anchor.SessionID, engine.MessageList{
			Paging: paging, From: before,
		})
		if err != nil {
			return err
		}
		for i := range read.Data {
			m := &read.Data[i]
			if m.Sequence == 0 || m.Sequence > before {
				continue
			}
			// the input was recorded right before: messages without a turn, and outputs of the client's functions
			own := m.TurnID.IsZero() || m.Role == parley.RoleToolResult && m.Author.Kind != parley.AuthorAgent
			if !own || resumes(m) {
				before = 0
				break
			}
			rows = append(rows, *m)
			size += m.Size()
		}
		if read.Next == nil || before == 0 {
			break
		}
		paging.Cursor = *read.Next
	}
	free, err := x.Hold(int64(responseHolds * size))
	if err != nil {
		return err
	}
	defer free()
	var items []any
	for i := range rows {
		made, err := itemsOf(&rows[i])
		if err != nil {
			return err
		}
		slices.Reverse(made)
		items = append(items, made...)
	}
	if page.ascending {
		slices.Reverse(items)
	}
	list, err := page.of(items)
	if err != nil {
		return err
	}
	return send(x, list)
}

// of cuts a page out of all items, which are in its order.
func (p *itemPage) of(items []any) (*itemList, error) {
	if p.after != "" {
		at := slices.IndexFunc(items, func(item any) bool { return itemID(item) == p.after })
		if at < 0 {
			return nil, parley.InvalidField("after", "is not an item of this list")
		}
		items = items[at+1:]
	}
	list := &itemList{Object: "list", Data: items, More: len(items) > p.limit}
	if list.More {
		list.Data = items[:p.limit]
	}
	if n := len(list.Data); n > 0 {
		list.First, list.Last = new(itemID(list.Data[0])), new(itemID(list.Data[n-1]))
	} else {
		list.Data = []any{}
	}
	return list, nil
}

// itemID returns an item's id.
func itemID(item any) string {
	switch i := item.(type) {
	case *messageItem:
		return i.ID
	case *reasoningItem:
		return i.ID
	case *callItem:
		return i.ID
	case *outputItem:
		return i.ID
	case *agentMessage:
		return i.ID
	case *agentReasoning:
		return i.ID
	case *agentCall:
		return i.ID
	case *agentOutput:
		return i.ID
	case *agentToolCall:
		return i.ID
	}
	return ""
}
