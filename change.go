package parley

import "encoding/json"

// Change is a field of a PATCH: absent leaves things alone, null clears, a
// value sets.
type Change[T any] struct {
	Set   bool
	Value T // the zero value when cleared
}

// UnmarshalJSON notes that the field was there.
func (c *Change[T]) UnmarshalJSON(data []byte) error {
	c.Set = true
	if string(data) == "null" {
		var zero T
		c.Value = zero
		return nil
	}
	return json.Unmarshal(data, &c.Value)
}

// MarshalJSON writes the value; use omitzero to leave an unset field out.
func (c Change[T]) MarshalJSON() ([]byte, error) { return json.Marshal(c.Value) }

// over sets a field that the change names.
func (c Change[T]) over(field *T) {
	if c.Set {
		*field = c.Value
	}
}

// IsZero reports that the field was absent.
func (c Change[T]) IsZero() bool { return !c.Set }
