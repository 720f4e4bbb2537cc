package sqlite

import (
	"context"
	"reflect"

	"example.org/parley"
	"example.org/parley/store"
)

// largePage is from how many rows on a page is read by two connections at once:
// handing over the columns is what a page costs, and a processor more halves it.
const largePage = 500

// halves splits the query of a large page without filters. Sequences have no
// gaps, so that the second half's beginning is known before the first is read.
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

// inHalves reads a page's halves side by side. It returns nil when they do not
// meet: the record ends or begins inside the first, or its bytes are enough, and
// one query must say how.
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
	go func() { // ends with its query; this call waits for it
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
