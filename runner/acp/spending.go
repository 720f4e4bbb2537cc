package acp

import (
	"encoding/json"
	"strings"

	"example.org/parley"
)

// spending is the usage that a program reports: the current tokens of its context, and the costs of its whole session
// so far. Its session's mutex guards it.
type spending struct {
	used    int64 // tokens, as last told
	counted int64 // of used, as last charged
	told    bool  // the program reported usage since the last charge
	priced  bool  // costs too
	cost    parley.Money
	charged parley.Money // of the costs
}

// update applies a report of the program. It ignores unknown forms.
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
	if amount < s.charged { // the program began to count anew
		s.charged = 0
	}
	s.cost, s.told, s.priced = amount, true, true
}

// charge returns the usage since the last charge: the size of the context, once for each change, and the costs. Unknown
// usage is zero; unknown costs are nil.
func (s *spending) charge() (usage parley.Usage, cost *parley.Money) {
	if !s.told {
		return parley.Usage{}, nil
	}
	tokens, none := s.used, int64(0)
	if s.used == s.counted { // it has not called its model
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
