package engine

import (
	"cmp"
	"context"
	"slices"

	"example.org/parley"
	"example.org/parley/store"
)

// Messages is the view "flat": the rows themselves; in ascending order the queued ones come last, by position.
func (e *Engine) Messages(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	list MessageList,
) (Page[parley.Message], error) {
	return e.messages(ctx, principal, sessionID, list, nil)
}

// UserMessages is the view "user": without internal messages, and without empty ones that an interruption left behind.
func (e *Engine) UserMessages(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	list MessageList,
) (Page[parley.Message], error) {
	list, err := userFacing(list)
	if err != nil {
		return Page[parley.Message]{}, err
	}
	page, err := e.messages(ctx, principal, sessionID, list, nil)
	if err != nil {
		return page, err
	}
	kept := page.Data[:0]
	for _, message := range page.Data {
		if !hidden(message) {
			kept = append(kept, message)
		}
	}
	page.Data = kept
	return page, nil
}

// userFacing leaves internal messages out of a list.
func userFacing(list MessageList) (MessageList, error) {
	if list.Internal != nil && *list.Internal {
		return list, parley.InvalidField("internal", "this view shows no internal messages; view=flat does")
	}
	shown := false
	list.Internal = &shown
	return list, nil
}

// DefaultRecent is how many messages the view "recent" shows by default.
const DefaultRecent = 10

// RecentMessages is the view "recent": the last user-facing messages, oldest first. It is one page, so it accepts
// neither cursor nor order.
func (e *Engine) RecentMessages(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	list MessageList,
) (Page[parley.Message], error) {
	switch {
	case list.Cursor != "":
		return Page[parley.Message]{}, parley.InvalidField("cursor", "the view recent is one page; view=user has more")
	case list.Order != "":
		return Page[parley.Message]{}, parley.InvalidField(
			"order",
			"the view recent is always oldest first; only view=user accepts an order",
		)
	case list.From != 0:
		return Page[parley.Message]{}, parley.InvalidField(
			"from_sequence",
			"the view recent is the end of the record; view=user begins anywhere",
		)
	}
	list.Order = Descending
	if list.Limit == 0 {
		list.Limit = DefaultRecent
	}
	page, err := e.UserMessages(ctx, principal, sessionID, list)
	slices.Reverse(page.Data)
	page.Next = nil
	return page, err
}

// MessageID is a row of the view "ids".
type MessageID struct {
	ID       parley.ID `json:"id"`
	Sequence *int64    `json:"sequence"` // null while queued
	Position *int64    `json:"position"`
}

// MessageIDs is the view "ids".
func (e *Engine) MessageIDs(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	list MessageList,
) (_ Page[MessageID], err error) {
	ctx, call, err := e.enter(ctx, principal, "listMessages", ReadSessions, of(sessionID))
	if err != nil {
		return Page[MessageID]{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	query, order, err := messageQuery(list)
	if err != nil {
		return Page[MessageID]{}, err
	}
	limit := query.Limit
	query.Limit++
	refs, err := joined(union[store.MessageRef]{
		limit:   query.Limit,
		compare: byPlace(order, func(ref *store.MessageRef) (int64, *int64) { return ref.Sequence, ref.Position }),
	}, list.queries(query), func(query store.MessageQuery) ([]store.MessageRef, error) {
		return e.store.MessageIDs(ctx, scope, sessionID, query)
	})
	if err != nil {
		return Page[MessageID]{}, err
	}
	cut := pageOf(refs, limit, func(last store.MessageRef) cursor {
		return messageCursor(order, last.Sequence, last.Position)
	})
	page := Page[MessageID]{Data: make([]MessageID, len(cut.Data)), Next: cut.Next}
	for i, ref := range cut.Data {
		page.Data[i] = MessageID{ID: ref.ID, Position: ref.Position}
		if ref.Sequence != 0 {
			page.Data[i].Sequence = &ref.Sequence
		}
	}
	return page, nil
}

// messages reads one page. With extend it also reads the rows after the page that belong to its last turn, so that
// folded views never split a turn.
func (e *Engine) messages(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	list MessageList,
	extend func(last, next parley.Message) bool,
) (_ Page[parley.Message], err error) {
	ctx, call, err := e.enter(ctx, principal, "listMessages", ReadSessions, of(sessionID))
	if err != nil {
		return Page[parley.Message]{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	query, order, err := messageQuery(list)
	if err != nil {
		return Page[parley.Message]{}, err
	}
	limit := query.Limit
	query.Limit++
	query.MaxBytes = parley.MaxPageBytes
	read := func() ([]parley.Message, error) {
		return joined(union[parley.Message]{
			limit: query.Limit, size: (*parley.Message).Size,
			compare: byPlace(order, func(m *parley.Message) (int64, *int64) { return m.Sequence, m.Position }),
		}, list.queries(query), func(query store.MessageQuery) ([]parley.Message, error) {
			return e.store.Messages(ctx, scope, sessionID, query)
		})
	}
	rows, err := read()
	if err != nil {
		return Page[parley.Message]{}, err
	}
	size := bytesOf(rows)
	if n := len(rows); n > 1 && n <= limit && size >= query.MaxBytes {
		limit = n - 1 // cut by size: the last row begins the next page
	}
	for extend != nil && len(rows) > limit && limit < maxFolded && size < maxFoldedBytes && extend(rows[limit-1],
		rows[limit]) {
		limit++
		if limit < len(rows) {
			continue
		}
		startAfter(&query, order, rows[len(rows)-1])
		query.Limit = parley.DefaultPage
		more, err := read()
		if err != nil {
			return Page[parley.Message]{}, err
		}
		rows, size = append(rows, more...), size+bytesOf(more)
	}
	return pageOf(rows, limit, func(last parley.Message) cursor {
		return messageCursor(order, last.Sequence, last.Position)
	}), nil
}

// The bounds of a page that is extended to whole turns.
const (
	maxFolded      = 2 * parley.MaxPage
	maxFoldedBytes = 2 * parley.MaxPageBytes
)

func bytesOf(rows []parley.Message) (n int) {
	for i := range rows {
		n += rows[i].Size()
	}
	return n
}

func startAfter(query *store.MessageQuery, order Order, last parley.Message) {
	if last.Sequence == 0 && order == Ascending {
		query.AfterPosition = last.Position
		return
	}
	query.AfterSequence = last.Sequence
}

func messageCursor(order Order, sequence int64, position *int64) cursor {
	if sequence == 0 {
		return cursor{List: "messages", Order: order, Position: position}
	}
	return cursor{List: "messages", Order: order, Sequence: sequence}
}

func messageQuery(list MessageList) (store.MessageQuery, Order, error) {
	from, order, limit, err := list.start("messages", Ascending)
	if err != nil {
		return store.MessageQuery{}, "", err
	}
	for _, role := range list.Roles {
		if !role.Valid() {
			return store.MessageQuery{}, "", parley.InvalidField(
				"role",
				"%q is not one of user, assistant, tool_call, tool_result, summary, system",
				parley.Clip(string(role), 32),
			)
		}
	}
	for _, status := range list.Statuses {
		if status != parley.MessageQueued && status != parley.MessageStreaming && !status.Settled() {
			return store.MessageQuery{}, "", parley.InvalidField(
				"status",
				"%q is not one of queued, streaming, completed, failed, cancelled",
				parley.Clip(string(status), 32),
			)
		}
	}
	if err := checkAll(
		textsBound{"tool", list.ToolNames, parley.MaxNameBytes},
		textsBound{"agent_type", list.AgentTypes, parley.MaxNameBytes},
	); err != nil {
		return store.MessageQuery{}, "", err
	}
	if list.From < 0 {
		return store.MessageQuery{}, "", parley.InvalidField("from_sequence", "is a position in the record, from 1")
	}
	if list.From > 0 && list.Cursor == "" {
		if from.Sequence = list.From - 1; order == Descending {
			from.Sequence = list.From + 1
		}
	}
	return store.MessageQuery{
		Roles: list.Roles, Internal: list.Internal, RecordOnly: list.RecordOnly, Descending: order == Descending,
		AfterSequence: from.Sequence, AfterPosition: from.Position, Limit: limit,
	}, order, nil
}

// queries returns one query for each combination of the filters' values. The store's query has several roles itself.
func (list *MessageList) queries(query store.MessageQuery) []store.MessageQuery {
	all := []store.MessageQuery{query}
	all = apart(all, list.Statuses, func(q *store.MessageQuery, status parley.MessageStatus) { q.Status = status })
	all = apart(all, list.TurnIDs, func(q *store.MessageQuery, id parley.ID) { q.TurnID = id })
	all = apart(all, list.Iterations, func(q *store.MessageQuery, n int) { q.Iteration = &n })
	all = apart(all, list.ToolNames, func(q *store.MessageQuery, name string) { q.ToolName = name })
	return apart(all, list.AgentTypes, func(q *store.MessageQuery, name string) { q.AgentType = name })
}

// byPlace compares messages by their place: in the record by sequence, then in the queue by position.
func byPlace[T any](order Order, place func(*T) (sequence int64, position *int64)) func(a, b *T) int {
	return func(a, b *T) int {
		aSequence, aPosition := place(a)
		bSequence, bPosition := place(b)
		switch {
		case aPosition != nil && bPosition != nil:
			return cmp.Compare(*aPosition, *bPosition)
		case aPosition != nil:
			return 1
		case bPosition != nil:
			return -1
		}
		return directed(order, cmp.Compare(aSequence, bSequence))
	}
}

// hidden reports whether an interruption left the answer empty: only the view flat shows it.
func hidden(message parley.Message) bool {
	if message.Status != parley.MessageFailed || message.Error == nil ||
		message.Error.Class != parley.ClassInterrupted {
		return false
	}
	content := assistantContent(message)
	return message.Role == parley.RoleAssistant && content.Text == "" && content.Reasoning == "" &&
		content.Refusal == ""
}
