package postgres

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// Events implements store.Sessions.
func (s *Store) Events(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	after int64,
	limit int,
) (events []parley.Event, err error) {
	clause, rows := limited(limit)
	if err := s.page(ctx, scope, sessionID, func(b *batch) {
		events = []parley.Event{}
		b.read(
			"SELECT sequence, type, turn_id, data, created_at FROM parley.events WHERE workspace_id = "+here+
				" AND session_id = $1 AND sequence > $2 ORDER BY sequence"+clause,
			upTo(rows, func(r *row) error {
				events = append(
					events,
					parley.Event{SessionID: sessionID, Sequence: r.int64(), Type: parley.EventType(r.text()),
						TurnID: r.id(), Data: r.json(), CreatedAt: r.time()},
				)
				return nil
			}),
			sessionID,
			after,
		)
	}); err != nil {
		return nil, err
	}
	contents, err := s.settledContents(ctx, scope.WorkspaceID, events)
	if err != nil {
		return nil, err
	}
	size := 0
	for i := range events {
		cut := false
		if err := transition.CompleteSettled(&events[i], func(id parley.ID) (json.RawMessage, error) {
			content, read := contents[id]
			cut = cut || !read
			return content, nil
		}); err != nil {
			return nil, err
		}
		if cut && i > 0 {
			return events[:i], nil
		}
		if size += len(events[i].Data); size >= parley.MaxPageBytes {
			return events[:i+1], nil
		}
	}
	return events, nil
}

// settledContents reads the contents of the messages that events settled: null for those that are gone. Messages after
// the one that reaches MaxPageBytes are missing, except those of the first event.
func (s *Store) settledContents(
	ctx context.Context,
	workspaceID parley.ID,
	events []parley.Event,
) (map[parley.ID]json.RawMessage, error) {
	var ids []parley.ID
	first := 0
	for i := range events {
		if events[i].Type != parley.EventStepGenerated && events[i].Type != parley.EventStepError {
			continue
		}
		var step event.Settled
		if err := json.Unmarshal(events[i].Data, &step); err != nil {
			return nil, err
		}
		for _, m := range step.Messages {
			ids = append(ids, m.MessageID)
		}
		if i == 0 {
			first = len(ids)
		}
	}
	contents := make(map[parley.ID]json.RawMessage, len(ids))
	if len(ids) == 0 {
		return contents, nil
	}
	err := s.read(ctx, func() *batch {
		clear(contents)
		b := tenant(workspaceID)
		b.read(
			`SELECT id, content FROM (SELECT asked.id, place, content,
				sum(octet_length(content)) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS
					before
 FROM unnest($2::uuid[]) WITH ORDINALITY asked (id, place) LEFT JOIN parley.messages m ON m.workspace_id = $1
  AND m.id = asked.id) m
 WHERE before IS NULL OR before < $3 OR place <= $4 ORDER BY place`,
			func(r *row) error {
				contents[r.id()] = r.json()
				return nil
			},
			workspaceID,
			ids,
			parley.MaxPageBytes,
			first,
		)
		return b
	})
	return contents, err
}

// Heads implements store.Sessions, in the order of the ids.
func (s *Store) Heads(ctx context.Context, sessionIDs []parley.ID) ([]store.HeadState, error) {
	states := make([]store.HeadState, len(sessionIDs))
	if len(sessionIDs) == 0 {
		return states, nil
	}
	for i, id := range sessionIDs {
		states[i] = store.HeadState{SessionID: id, Deleted: true}
	}
	err := s.read(ctx, func() *batch {
		b := system()
		b.read(
			`SELECT place, h.next_event - 1, s.owner_id, s.visibility
				FROM unnest($1::uuid[]) WITH ORDINALITY asked (id, place)
 JOIN parley.heads h ON h.session_id = asked.id JOIN parley.sessions s ON s.workspace_id = h.workspace_id
  AND s.id = h.session_id
 WHERE h.deleted_at IS NULL`,
			func(r *row) error {
				state := &states[r.int()-1]
				state.LastEvent, state.OwnerID, state.Visibility, state.Deleted = r.int64(), r.id(), parley.Visibility(
					r.text(),
				), false
				return nil
			},
			sessionIDs,
		)
		return b
	})
	if err != nil {
		return nil, err
	}
	return states, nil
}
