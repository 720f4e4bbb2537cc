package transition

import "parley"

// WarnLimit is the transition of parley.BudgetStore.
func (t *Tx) WarnLimit(fence parley.Fence, warning parley.LimitWarning) error {
	h, err := t.Holds(fence)
	if err != nil {
		return err
	}
	t.event(h, parley.EventLimitWarning, fence.TurnID, warningData(fence.TurnID, warning))
	return nil
}
