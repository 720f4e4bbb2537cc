package postgres

import (
	"encoding/json"
	"fmt"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// What internal/rows generates for the tables reads their rows; here stands what the stores make of more than one.

// sessionColumns reads "s" and its head "h".
const (
	sessionColumns = sessionListedColumns + ", " + headSessionColumns
	headOfSession  = ` JOIN parley.heads h ON h.session_id = s.id AND h.workspace_id = s.workspace_id `
	sessionTables  = ` FROM parley.sessions s` + headOfSession
)

// marksColumns are the marks that the session has which wrote a message.
const marksColumns = "m.pinned, m.context_edge, m.set_aside"

func scanSession(r *row) (s parley.Session, err error) {
	if err = fillSessionListed(r, &s); err != nil {
		return s, err
	}
	return s, fillHeadSession(r, &s)
}

// scanMessage reads messageColumns. JSON that another hand left unreadable never breaks
// it (A15): the content is shown as text with an error, the rest is left empty.
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

// encode is the JSON text of a column.
func encode[T any](value T) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("postgres: encoding a column: %w", err)
	}
	return string(text), nil
}
