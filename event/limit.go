package event

import (
	"encoding/json"
	"strconv"

	"example.org/parley"
)

// LimitWarning reports that a turn is close to a limit. Amounts of money are in US dollars.
//
//event:durable
type LimitWarning struct {
	TurnID parley.ID          `json:"turn_id"` // the turn that comes near the limit
	Limit  parley.Limit       `json:"limit"`   // the limit
	Scope  parley.BudgetScope `json:"scope"`   // whose limit it is
	Spent  json.Number        `json:"spent"`   // how much is used
	Of     json.Number        `json:"of"`      // how much there is
	Share  Share              `json:"share"`   // spent divided by of
}

// Share is a part of a whole, in JSON with three decimals.
type Share float64

// AppendJSON appends the JSON form.
func (s Share) AppendJSON(to []byte) []byte { return strconv.AppendFloat(to, float64(s), 'f', 3, 64) }

// MarshalJSON writes the JSON form.
func (s Share) MarshalJSON() ([]byte, error) { return s.AppendJSON(nil), nil }
