package openai

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/history"
	"example.org/parley/protocol"
)

// conversationRoutes are those of Conversations.
func (a *api) conversationRoutes() []protocol.Route {
	const one, items = "/conversations/{conversation}", "/conversations/{conversation}/items"
	return []protocol.Route{
		{
			Method: http.MethodPost, Path: "/conversations", Name: "createConversation", Verb: engine.OpenSessions,
			Body: MaxBody, Makes: true, Serve: a.createConversation, Example: `{"metadata":{"topic":"tea"}}`,
		},
		{
			Method: http.MethodGet, Path: one, Name: "getConversation", Verb: engine.ReadSessions,
			Serve: a.getConversation,
		},
		{
			Method: http.MethodPost, Path: one, Name: "updateConversation", Verb: engine.PatchSessions,
			Body: parley.MaxBodyBytes, Serve: a.updateConversation, Example: `{"metadata":{"topic":"tea"}}`,
		},
		{
			Method: http.MethodDelete, Path: one, Name: "deleteConversation", Verb: engine.DropSessions,
			Serve: a.deleteConversation,
		},
		{
			Method: http.MethodGet, Path: items, Name: "listConversationItems", Verb: engine.ReadSessions,
			Serve: a.listItems,
		},
		{
			Method: http.MethodPost, Path: items, Name: "createConversationItems", Verb: engine.PostMessages,
			Body: MaxBody, Serve: a.createItems, Example: `{"items":[{"role":"user","content":"Hello"}]}`,
		},
		{
			Method: http.MethodGet, Path: items + "/{conversation_item}", Name: "getConversationItem",
			Verb: engine.ReadSessions, Serve: a.getItem,
		},
		{
			Method: http.MethodDelete, Path: items + "/{conversation_item}", Name: "deleteConversationItem",
			Verb: engine.PostMessages, Serve: a.deleteItem,
		},
	}
}

// conversationRequest is the body that creates or changes a conversation, or adds to it.
type conversationRequest struct {
	Items    json.RawMessage    `json:"items"`
	Metadata *map[string]string `json:"metadata"`
}

// conversationMembers are the members that a request may have.
var conversationMembers = membersOf(reflect.TypeFor[conversationRequest]()) //nolint:gochecknoglobals // never written

// conversationObject is a conversation in the protocol's shape.
type conversationObject struct {
	ID        string          `json:"id"`
	Object    string          `json:"object"`
	CreatedAt int64           `json:"created_at"`
	Metadata  json.RawMessage `json:"metadata"`
}

func newConversation(s *parley.Session) conversationObject {
	return conversationObject{
		conversationPrefix + s.ID.String(), "conversation", s.CreatedAt.Std().Unix(), s.Metadata,
	}
}

// decodeConversation reads a request and its items.
func decodeConversation(body []byte) (r conversationRequest, said []history.Message, instructions []string, err error) {
	if len(body) == 0 {
		return r, nil, nil, nil
	}
	if err = decodeBody(body, &r, conversationMembers, "a conversation"); err != nil || !given(r.Items) {
		return r, nil, nil, err
	}
	said, instructions, err = readInput(r.Items, maxAdded)
	if err == nil && len(said) > 0 && said[0].Role == roleCompaction {
		err = parley.InvalidField("items", "has a compaction item, which goes with a response")
	}
	if err == nil && slices.ContainsFunc(said, func(m history.Message) bool { return m.Role == roleReference }) {
		err = parley.InvalidField("items", "has an item_reference, which goes with a response")
	}
	return r, said, instructions, err
}

// conversation finds the session of a request's path.
func (a *api) conversation(x *protocol.Exchange) (parley.Session, error) {
	name := x.R.PathValue("conversation")
	session, err := a.engine.Session(x.R.Context(), x.Principal, idOf(name, conversationPrefix))
	if parley.ErrorCode(err) == parley.CodeNotFound {
		err = parley.Errorf(parley.CodeNotFound, "Conversation with id '%s' not found.", parley.Clip(name, 64))
	}
	return session, err
}

// createConversation opens a session. Its agent is the plain one: each response names whom it asks.
func (a *api) createConversation(x *protocol.Exchange) error {
	ctx := x.R.Context()
	r, said, instructions, err := decodeConversation(x.Body)
	if err != nil {
		return err
	}
	agent, err := a.plainAgent(ctx, x.Principal)
	if err != nil {
		return err
	}
	input := engine.SessionInput{AgentID: agent.ID.String()}
	for i, text := range instructions {
		if i > 0 {
			input.Instructions += "\n\n"
		}
		input.Instructions += text
	}
	if r.Metadata != nil {
		if input.Metadata, err = parley.EncodeJSON(*r.Metadata); err != nil {
			return err
		}
	}
	c := &history.Request{X: x, Agent: agent, History: history.History{Said: said}}
	opened, err := a.engine.OpenSession(ctx, x.Principal, input, a.book.Once(c))
	if err != nil {
		return err
	}
	for i := range said {
		if err := a.book.Record(ctx, c, opened.Session.ID, i, 0); err != nil {
			return err
		}
	}
	return send(x, newConversation(&opened.Session))
}

// getConversation reads one.
func (a *api) getConversation(x *protocol.Exchange) error {
	session, err := a.conversation(x)
	if err != nil {
		return err
	}
	return send(x, newConversation(&session))
}

// updateConversation replaces a conversation's metadata.
func (a *api) updateConversation(x *protocol.Exchange) error {
	session, err := a.conversation(x)
	if err != nil {
		return err
	}
	r, _, _, err := decodeConversation(x.Body)
	if err != nil {
		return err
	}
	patch := engine.SessionPatch{}
	patch.Metadata.Set = true
	if r.Metadata != nil {
		if patch.Metadata.Value, err = parley.EncodeJSON(*r.Metadata); err != nil {
			return err
		}
	}
	if session, err = a.engine.UpdateSession(x.R.Context(), x.Principal, session.ID, patch); err != nil {
		return err
	}
	return send(x, newConversation(&session))
}

// deleteConversation deletes a session with everything in it.
func (a *api) deleteConversation(x *protocol.Exchange) error {
	session, err := a.conversation(x)
	if err != nil {
		return err
	}
	if err := a.engine.DeleteSession(x.R.Context(), x.Principal, session.ID); err != nil {
		return err
	}
	return send(x, deletedObject{x.R.PathValue("conversation"), "conversation.deleted", true})
}

// createItems records items without asking anybody.
func (a *api) createItems(x *protocol.Exchange) error {
	session, err := a.conversation(x)
	if err != nil {
		return err
	}
	_, said, instructions, err := decodeConversation(x.Body)
	switch {
	case err != nil:
		return err
	case len(instructions) > 0:
		return parley.InvalidField("items", "messages of role system and developer are not kept behind the beginning "+
			"of a conversation: give instructions with a response")
	case len(said) == 0:
		return parley.InvalidField("items", "is empty")
	}
	c := &history.Request{X: x, History: history.History{Said: said}, Keeps: true}
	for i := range said {
		if err := a.book.Record(x.R.Context(), c, session.ID, i, 0); err != nil {
			return err
		}
	}
	items := []any{}
	for i := range c.Kept {
		made, err := itemsOf(&c.Kept[i])
		if err != nil {
			return err
		}
		items = append(items, made...)
	}
	all := itemPage{limit: len(items)}
	list, err := all.of(items)
	if err != nil {
		return err
	}
	return send(x, list)
}

// itemsAround reads items of a session, in order, from the message with a sequence on; 0: from the list's beginning. It
// ends with enough items, or with the page that makes them parley.MaxPageBytes, without the message before; more
// reports whether there may be others.
func (a *api) itemsAround(
	x *protocol.Exchange, session parley.ID, from int64, before parley.ID, ascending bool,
	enough func(items []any) bool,
) (items []any, size int, more bool, err error) {
	list := engine.MessageList{Paging: engine.Paging{Limit: maxItems, Order: engine.Descending}, From: from}
	if ascending {
		list.Order = engine.Ascending
	}
	for range maxItemPages {
		page, err := a.engine.Messages(x.R.Context(), x.Principal, session, list)
		if err != nil {
			return nil, 0, false, err
		}
		for i := range page.Data {
			m := &page.Data[i]
			if m.Sequence == 0 || m.Marks.SetAside || !m.Status.Settled() {
				continue
			}
			made, err := itemsOf(m)
			if err != nil {
				return nil, 0, false, err
			}
			if !ascending {
				slices.Reverse(made)
			}
			items = append(items, made...)
			if len(made) > 0 && m.ID != before {
				size += m.Size()
			}
		}
		more = page.Next != nil
		if !more || enough(items) || size >= parley.MaxPageBytes {
			return items, size, more, nil
		}
		list.Cursor = *page.Next
	}
	return items, size, more, nil
}

// listItems lists what was said in a conversation, the newest first unless the client says otherwise.
func (a *api) listItems(x *protocol.Exchange) error {
	page, err := pageOf(x.R.URL.Query())
	if err != nil {
		return err
	}
	session, err := a.conversation(x)
	if err != nil {
		return err
	}
	var from int64
	if page.after != "" {
		m, err := a.engine.Message(x.R.Context(), x.Principal, itemMessage(page.after))
		if err != nil || m.Sequence == 0 {
			return parley.InvalidField("after", "is not an item of this list")
		}
		from = m.Sequence
	}
	before := itemMessage(page.after)
	items, size, more, err := a.itemsAround(x, session.ID, from, before, page.ascending, func(items []any) bool {
		return len(items) > page.limit+2 // a message is at most two items, one of which may be the one before the page
	})
	if err != nil {
		return err
	}
	free, err := x.Hold(int64(responseHolds * size))
	if err != nil {
		return err
	}
	defer free()
	list, err := page.of(items)
	if err != nil {
		return err
	}
	list.More = list.More || more
	return send(x, list)
}

// itemMessage returns the message of an item.
func itemMessage(id string) parley.ID {
	return idOf(id, messagePrefix, reasoningPrefix, callPrefix, outputPrefix)
}

// foundItem finds the item of a request's path.
func (a *api) foundItem(x *protocol.Exchange) (session parley.Session, item any, message parley.ID, err error) {
	id := x.R.PathValue("conversation_item")
	missing := parley.Errorf(parley.CodeNotFound, "Item with id '%s' not found.", parley.Clip(id, 64))
	if session, err = a.conversation(x); err != nil {
		return session, nil, message, err
	}
	message = itemMessage(id)
	m, err := a.engine.Message(x.R.Context(), x.Principal, message)
	if parley.ErrorCode(err) == parley.CodeNotFound || err == nil && m.Sequence == 0 {
		err = missing
	}
	if err != nil {
		return session, nil, message, err
	}
	// a fork has messages of other sessions: what counts is the place
	items, _, _, err := a.itemsAround(x, session.ID, m.Sequence, message, true, func([]any) bool { return true })
	if err != nil {
		return session, nil, message, err
	}
	at := slices.IndexFunc(items, func(item any) bool { return itemID(item) == id })
	if at < 0 {
		return session, nil, message, missing
	}
	return session, items[at], message, nil
}

// getItem reads an item.
func (a *api) getItem(x *protocol.Exchange) error {
	_, item, _, err := a.foundItem(x)
	if err != nil {
		return err
	}
	return send(x, item)
}

// deleteItem sets an item's message aside.
func (a *api) deleteItem(x *protocol.Exchange) error {
	session, _, message, err := a.foundItem(x)
	if err == nil {
		err = a.setAside(x.R.Context(), x.Principal, session.ID, message)
	}
	if err != nil {
		return err
	}
	return send(x, newConversation(&session))
}
