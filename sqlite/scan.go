package sqlite

import (
	"encoding/json"
	"fmt"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// Rows that combine several tables; the readers of single tables are generated from internal/tables.

// sessionColumns reads "FROM sessions s JOIN heads h ON h.session_id = s.id".
const sessionColumns = sessionListedColumns + ", " + headSessionColumns

const sessionTables = ` FROM sessions s JOIN heads h ON h.session_id = s.id `

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
		return fmt.Errorf("sqlite: column %s holds no readable JSON: %w", column, err)
	}
	return nil
}

// encode returns the JSON text of a column.
func encode[T any](value T) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("sqlite: encoding a column: %w", err)
	}
	return string(text), nil
}

// encodeMaybe is encode for an optional value: nil is NULL.
func encodeMaybe[T any](value *T) (arg, error) {
	if value == nil {
		return nil, nil
	}
	text, err := encode(value)
	return text, err
}
