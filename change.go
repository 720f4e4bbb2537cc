package parley

import "encoding/json"

// Change is a field of a PATCH: absent changes nothing, null clears, a value sets.
type Change[T any] struct {
	Set   bool
	Value T // the zero value when cleared
}

// UnmarshalJSON notes that the field is present.
func (c *Change[T]) UnmarshalJSON(data []byte) error {
	c.Set = true
	if string(data) == "null" {
		var zero T
		c.Value = zero
		return nil
	}
	return json.Unmarshal(data, &c.Value)
}

// MarshalJSON writes the value; use omitzero to leave out an unset field.
func (c Change[T]) MarshalJSON() ([]byte, error) { return json.Marshal(c.Value) }

// over sets a field if the change names it.
func (c Change[T]) over(field *T) {
	if c.Set {
		*field = c.Value
	}
}

// IsZero reports that the field was absent.
func (c Change[T]) IsZero() bool { return !c.Set }
