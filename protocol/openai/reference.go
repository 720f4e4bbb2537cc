package openai

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/history"
)

// roleReference marks an item that names another one of the record; Answers has its id.
const roleReference = "item_reference"

// dereference replaces each reference with the item that it names, unless that item stands before the request anyway.
func (a *api) dereference(ctx context.Context, principal parley.Principal, p *prepared) error {
	var said []history.Message
	for i := range p.asked.said {
		m := &p.asked.said[i]
		if m.Role != roleReference {
			said = append(said, *m)
			continue
		}
		found, err := a.referenced(ctx, principal, p, m)
		if err != nil {
			return err
		}
		said = append(said, found...)
	}
	p.asked.said = said
	return nil
}

// referenced finds what a reference names.
func (a *api) referenced(
	ctx context.Context, principal parley.Principal, p *prepared, reference *history.Message,
) (said []history.Message, err error) {
	id := reference.Answers
	row, err := a.engine.Message(ctx, principal, idOf(id, messagePrefix, reasoningPrefix, callPrefix, outputPrefix))
	if err != nil && parley.ErrorCode(err) != parley.CodeNotFound {
		return nil, err
	}
	var items []any
	if err == nil && !row.Marks.SetAside && row.Status.Settled() {
		if items, err = itemsOf(&row); err != nil {
			return nil, err
		}
	}
	for _, item := range items {
		if itemID(item) != id {
			continue
		}
		if has, err := a.goesOnWith(ctx, principal, p, &row); has || err != nil {
			return nil, err
		}
		encoded, err := parley.EncodeJSON(item)
		if err != nil {
			return nil, err
		}
		var input inputItem
		if err := json.Unmarshal(encoded, &input); err != nil {
			return nil, err
		}
		m, err := input.message()
		if err != nil {
			return nil, history.Within(reference.Member, err)
		}
		if m != nil { // the record has the reasoning
			said = append(said, m.said(0))
			said[0].Member = reference.Member
		}
		return said, nil
	}
	return nil, &parley.Error{
		Code: parley.CodeNotFound, Field: "input", Message: "Item with id '" + parley.Clip(id, 64) + "' not found.",
	}
}

// goesOnWith reports whether a message stands before a request in its session.
func (a *api) goesOnWith(
	ctx context.Context, principal parley.Principal, p *prepared, row *parley.Message,
) (bool, error) {
	if p.session == nil || p.before != nil && row.Sequence > p.before.last().Sequence {
		return false, nil
	}
	page, err := a.engine.Messages(ctx, principal, p.session.ID, engine.MessageList{
		Paging: engine.Paging{Limit: 1}, From: row.Sequence,
	})
	return err == nil && len(page.Data) > 0 && page.Data[0].ID == row.ID, err
}
