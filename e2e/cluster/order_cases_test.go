package cluster

import (
	"strings"
	"testing"

	"example.org/parley"
)

// happened is an event of a turn, as the order checks it.
type happened struct {
	event parley.EventType
	data  turnEvent
}

// TestOrderOfTurns: the order accepts every legal history of a session's turns, and detects
// every way to break a rule.
func TestOrderOfTurns(t *testing.T) {
	t.Parallel()
	a, b := parley.NewID(), parley.NewID()
	of := func(event parley.EventType) func(parley.ID) happened {
		return func(turn parley.ID) happened { return happened{event, turnEvent{TurnID: turn}} }
	}
	begun, settled, broken := of(parley.EventStepStarted), of(parley.EventStepGenerated), of(parley.EventStepError)
	result, waits := of(parley.EventToolCompleted), of(parley.EventSessionWaiting)
	lives := func(turn parley.ID, attempt int) happened {
		return happened{parley.EventSessionStarted, turnEvent{TurnID: turn, Attempt: attempt}}
	}
	ends := func(turn parley.ID, takeovers int) happened {
		return happened{
			parley.EventSessionCompleted,
			turnEvent{TurnID: turn, Turn: parley.Turn{Status: parley.TurnCompleted, Takeovers: takeovers}},
		}
	}
	loops := func(turn parley.ID, takeovers int) happened {
		return happened{
			parley.EventSessionFailed,
			turnEvent{TurnID: turn, Turn: parley.Turn{Status: parley.TurnFailed, Takeovers: takeovers,
				Error: &parley.Failure{Class: parley.ClassCrashLoop}}},
		}
	}
	for _, test := range []struct {
		name   string
		events []happened
		breaks string // "": nothing
	}{
		{"one after the other", []happened{lives(a, 1), begun(a), settled(a), ends(a, 0), lives(b, 1), begun(b),
			settled(b), ends(b, 0)}, ""},
		{"a turn that never began is cancelled", []happened{ends(a, 0), lives(b, 1), settled(b), ends(b, 0)}, ""},
		{"three lives that settled nothing",
			[]happened{lives(a, 1), begun(a), lives(a, 2), broken(a), begun(a), lives(a, 3), loops(a, 3),
				lives(b, 1)}, ""},
		{"three lives before their first step", []happened{lives(a, 1), lives(a, 2), lives(a, 3), loops(a, 3)}, ""},
		{"died behind its step, and twice more",
			[]happened{lives(a, 1), begun(a), settled(a), result(a), lives(a, 2), lives(a, 3), loops(a, 3), lives(b, 1),
				ends(b, 0)}, ""},
		{"drained in between", []happened{lives(a, 1), lives(a, 2), lives(a, 3), lives(a, 4), lives(a, 5),
			loops(a, 3)}, ""},
		{"taken over twice, then well",
			[]happened{lives(a, 1), lives(a, 2), lives(a, 3), begun(a), settled(a), ends(a, 0)}, ""},
		{"taken over twice, then broken inside", []happened{lives(a, 1), lives(a, 2), lives(a, 3), ends(a, 2)}, ""},
		{"died behind its step, and broken inside", []happened{lives(a, 1), settled(a), lives(a, 2), ends(a, 1)}, ""},
		{"waited, and was taken over then",
			[]happened{lives(a, 1), settled(a), waits(a), lives(a, 2), lives(a, 3), lives(a, 4), loops(a, 3)}, ""},

		{"given up too early", []happened{lives(a, 1), lives(a, 2), loops(a, 2)}, "after 2 takeovers"},
		{"given up after two lives", []happened{lives(a, 1), lives(a, 2), loops(a, 3)}, "lived 2 times"},
		{"given up although a step was settled",
			[]happened{lives(a, 1), lives(a, 2), settled(a), lives(a, 3), loops(a, 3)}, "lived 2 times"},
		{"what waited is taken over",
			[]happened{lives(a, 1), settled(a), waits(a), lives(a, 2), lives(a, 3), loops(a, 3)}, "lived 2 times"},
		{"something else may have killed them",
			[]happened{lives(a, 1), lives(a, 2), lives(a, 3), lives(a, 4), ends(a, 3)}, ""},
		{"a drain counts", []happened{lives(a, 1), settled(a), ends(a, 2)}, "lived 1 times"},
		{"two at once", []happened{lives(a, 1), lives(b, 1)}, "while"},
		{"a step of the turn before", []happened{lives(a, 1), ends(a, 0), lives(b, 1), settled(a)}, "while"},
		{"a result behind the end", []happened{lives(a, 1), ends(a, 0), result(a)}, "while"},
		{"ended while another ran", []happened{lives(a, 1), ends(a, 0), lives(b, 1), ends(a, 0)}, "while"},
		{"an older attempt goes on", []happened{lives(a, 1), lives(a, 2), lives(a, 1)}, "follows attempt 2"},
	} {
		o := newOrder()
		var broke []string
		for _, one := range test.events {
			if err := o.take(one.event, one.data); err != nil {
				broke = append(broke, err.Error())
			}
		}
		switch told := strings.Join(broke, "; "); {
		case test.breaks == "" && len(broke) > 0,
			test.breaks != "" && !strings.Contains(told, test.breaks),
			len(broke) > 1:
			t.Errorf("%s: the order reports %q; want one break with %q", test.name, told, test.breaks)
		}
	}
}
