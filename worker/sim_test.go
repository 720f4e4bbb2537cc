package worker

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
	"example.org/parley/tool/builtin"
)

// simulated is a model source with only the simulator.
type simulated struct{ model *sim.Model }

func (s simulated) Resolve(id parley.ModelID) (model.Model, model.Info, error) {
	return s.model, sim.Info(id.Name()), nil
}
func (s simulated) Models() []model.Info    { return sim.Models() }
func (s simulated) Default() parley.ModelID { return "sim/echo" }

// TestSimulatedModels runs each of the simulator's models through a whole turn.
func TestSimulatedModels(t *testing.T) {
	for _, c := range []struct {
		model  string
		status parley.TurnStatus
		class  parley.ErrorClass
		calls  int
		roles  string
	}{
		{"echo", parley.TurnCompleted, "", 1, "user assistant"},
		{"lorem-50-0", parley.TurnCompleted, "", 1, "user assistant"},
		{"tool", parley.TurnCompleted, "", 2, "user assistant tool_call tool_result assistant"},
		{"reason", parley.TurnCompleted, "", 1, "user assistant"},
		{"fail-rate_limit-2", parley.TurnCompleted, "", 3, "user assistant"},
		{"fail-network-3", parley.TurnCompleted, "", 4, "user assistant"},
		{"fail-network-4", parley.TurnFailed, parley.ClassNetwork, 4, "user assistant"},
		{"fail-auth-1", parley.TurnFailed, parley.ClassAuth, 1, "user assistant"},
		{"fail-context_length-1", parley.TurnFailed, parley.ClassContextLength, 1, "user assistant"},
		{"fail-content_filter-1", parley.TurnFailed, parley.ClassContentFilter, 1, "user assistant"},
		{"object", parley.TurnCompleted, "", 1, "user assistant"},
		{"object-1", parley.TurnCompleted, "", 1, "user assistant"}, // nobody checks it
		{"no-such-model", parley.TurnFailed, parley.ClassModel, 0, "user"},
	} {
		t.Run(c.model, func(t *testing.T) {
			r := newRig(t)
			w := New(r.store, simulated{sim.New()}, builtin.Tools(), r.hub, r.options)
			r.running.Store(w)
			r.must(w.Start(t.Context()))
			r.worker = w
			t.Cleanup(func() { r.stop(w) })
			sessionID := r.session(parley.Settings{Model: parley.ModelID("sim/" + c.model)}, nil)
			turn := r.ended(r.post(sessionID, "Hello", "").Turn.ID)
			if turn.Status != c.status || turn.Error != nil && turn.Error.Class != c.class {
				t.Errorf("turn %s, %+v", turn.Status, turn.Error)
			}
			if got := len(r.callLog(sessionID)); got != c.calls {
				t.Errorf("%d calls, want %d", got, c.calls)
			}
			var roles []string
			for _, l := range r.record(sessionID) {
				roles = append(roles, string(l.Role))
			}
			if got := strings.Join(roles, " "); got != c.roles {
				t.Errorf("the record is %q, want %q", got, c.roles)
			}
		})
	}
}
