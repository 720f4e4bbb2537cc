package acp

import (
	"encoding/json"
	"strings"

	"example.org/parley"
)

// spending is what a program tells of what its session takes: the tokens of its context
// as it is, and the costs of the whole session so far. It is guarded by its session's
// mutex.
type spending struct {
	used    int64 // tokens, as last told
	counted int64 // of them, as last charged
	told    bool  // something since the last charge
	priced  bool  // costs too
	cost    parley.Money
	charged parley.Money // of the costs
}

// update takes what a program tells. What has another form says nothing.
func (s *spending) update(u *update) {
	var used int64
	if json.Unmarshal(u.Used, &used) == nil && used >= 0 && used <= parley.MaxLimitTokens {
		s.used, s.told = used, true
	}
	var cost struct {
		Amount   json.RawMessage `json:"amount"`
		Currency string          `json:"currency"`
	}
	var amount parley.Money
	if json.Unmarshal(u.Cost, &cost) != nil || len(cost.Amount) == 0 || !strings.EqualFold(cost.Currency, "USD") ||
		amount.UnmarshalJSON(cost.Amount) != nil || amount < 0 || amount > parley.MaxLimitCost {
		return
	}
	if amount < s.charged { // it counts from the beginning again
		s.charged = 0
	}
	s.cost, s.told, s.priced = amount, true, true
}

// charge is what was told since the last charge: the size of the context, once for each
// time that it has changed, and the costs. An unknown usage is zero; costs are nil.
func (s *spending) charge() (usage parley.Usage, cost *parley.Money) {
	if !s.told {
		return parley.Usage{}, nil
	}
	tokens, none := s.used, int64(0)
	if s.used == s.counted { // it has asked its model for nothing
		tokens = 0
	}
	usage = parley.Usage{InputTokens: &tokens, OutputTokens: &none}
	if s.priced {
		spent := s.cost - s.charged
		cost, s.charged = &spent, s.cost
	}
	s.counted, s.told, s.priced = s.used, false, false
	return usage, cost
}
