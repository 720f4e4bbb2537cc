package postgres

import (
	"encoding/json"
	"fmt"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// Rows that combine several tables; the readers of single tables are generated from internal/tables.

// sessionColumns reads "s" and its head "h".
const (
	sessionColumns = sessionListedColumns + ", " + headSessionColumns
	headOfSession  = ` JOIN parley.heads h ON h.session_id = s.id AND h.workspace_id = s.workspace_id `
	sessionTables  = ` FROM parley.sessions s` + headOfSession
)

// marksColumns are a message's marks in the session that wrote it.
const marksColumns = "m.pinned, m.context_edge, m.set_aside"

func scanSession(r *row) (s parley.Session, err error) {
	if err = fillSessionListed(r, &s); err != nil {
		return s, err
	}
	return s, fillHeadSession(r, &s)
}

// scanMessage reads messageColumns. JSON that was made unreadable from outside never breaks it (A15): the content
// appears as text with an error, other columns are left empty.
func scanMessage(r *row) (m parley.Message, err error) {
	if err = fillMessage(r, &m); err == nil {
		transition.Mend(&m)
	}
	return m, err
}

func scanCall(r *row) (parley.Call, error) {
	var call transition.CallRow
	if err := fillCall(r, &call); err != nil {
		return call.Call, err
	}
	return call.Whole(), nil
}

func decode[T any](column, text string, into *T) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("postgres: column %s holds no readable JSON: %w", column, err)
	}
	return nil
}

// encode returns the JSON text of a column.
func encode[T any](value T) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("postgres: encoding a column: %w", err)
	}
	return string(text), nil
}
