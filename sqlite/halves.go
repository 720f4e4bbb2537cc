package sqlite

import (
	"context"
	"reflect"

	"example.org/parley"
	"example.org/parley/store"
)

// largePage is the number of rows from which two connections read a page together: most of a page's cost is reading its
// columns, and a second processor halves it.
const largePage = 500

// halves splits the query of a large page without filters. Sequences have no gaps, so the start of the second half is
// known before the first is read.
func halves(query store.MessageQuery) (first, second store.MessageQuery, ok bool) {
	plain := store.MessageQuery{
		AfterSequence: query.AfterSequence, Descending: query.Descending, RecordOnly: query.RecordOnly,
		Limit: query.Limit, MaxBytes: query.MaxBytes,
	}
	half := query.Limit / 2
	if query.Limit < largePage || !reflect.DeepEqual(query, plain) ||
		query.Descending && query.AfterSequence <= int64(half) {
		return first, second, false
	}
	first, second = query, query
	first.Limit, first.RecordOnly = half, true
	second.Limit = query.Limit - half
	if query.Descending {
		second.AfterSequence -= int64(half)
	} else {
		second.AfterSequence += int64(half)
	}
	return first, second, true
}

// inHalves reads both halves of a page concurrently. It returns nil if they do not meet, because the record begins or
// ends inside the first or its bytes fill the page; then a single query must decide.
func (s *Store) inHalves(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	query, first, second store.MessageQuery,
) ([]parley.Message, error) {
	type half struct {
		messages []parley.Message
		err      error
	}
	behind := make(chan half, 1)
	go func() { // ends with its query; inHalves waits for it
		messages, err := s.page(ctx, scope, sessionID, second)
		behind <- half{messages, err}
	}()
	messages, err := s.page(ctx, scope, sessionID, first)
	rest := <-behind
	if err != nil {
		return nil, err
	}
	if len(messages) < first.Limit || messages[len(messages)-1].Sequence != second.AfterSequence {
		return nil, nil
	}
	if rest.err != nil {
		return nil, rest.err
	}
	size := 0
	for i := range messages {
		size += messages[i].Size()
	}
	for i := range rest.messages {
		if query.MaxBytes > 0 && size >= query.MaxBytes {
			break
		}
		size += rest.messages[i].Size()
		messages = append(messages, rest.messages[i])
	}
	return messages, nil
}
