package cluster

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"example.org/parley"
)

// told is an action with its response, between two ticks of a clock.
type told struct {
	from, to int64
	in       action
	out      shown
}

// TestSequentialConversation: the specification accepts correct histories, and detects every
// way in which a store may be wrong.
func TestSequentialConversation(t *testing.T) {
	t.Parallel()
	a, b, c := parley.NewID(), parley.NewID(), parley.NewID()
	entered := func(from, to int64, number int, sequence int64, id parley.ID) told {
		return told{from, to, action{kind: actPost}, shown{post: number, message: id, sequence: sequence}}
	}
	queued := func(from, to int64, number int) told {
		return told{from, to, action{kind: actPost}, shown{post: number, message: parley.NewID()}}
	}
	unknown := func(from int64, number int) told {
		return told{from, 1000, action{kind: actPost}, shown{post: number, unknown: true}}
	}
	read := func(from, to int64, record []parley.ID, users int, posts ...int) told {
		return told{from, to, action{kind: actRead}, shown{record: record, users: users, posts: posts}}
	}
	cancelled := func(from, to int64, number int, behind bool) told {
		return told{from, to, action{kind: actCancel, queued: behind}, shown{post: number}}
	}
	for _, test := range []struct {
		name    string
		history []told
		right   bool
	}{
		{"one after the other", []told{entered(1, 2, 1, 1, a), queued(3, 4, 2), read(5, 6, []parley.ID{a, b}, 1, 1, 2),
			read(7, 8, []parley.ID{a, b, c}, 2, 1, 2)}, true},
		{"two at once, seen in either order",
			[]told{entered(1, 2, 1, 1, a), queued(3, 9, 2), queued(3, 9, 3), read(4, 8, []parley.ID{a}, 1, 1, 3),
				read(10, 11, []parley.ID{a}, 1, 1, 3, 2)}, true},
		{"lost in the connection and done",
			[]told{entered(1, 2, 1, 1, a), unknown(3, 2), read(5, 6, []parley.ID{a}, 1, 1),
				read(7, 8, []parley.ID{a}, 1, 1, 2)}, true},
		{"lost in the connection and never done",
			[]told{entered(1, 2, 1, 1, a), unknown(3, 2), read(7, 8, []parley.ID{a}, 1, 1)}, true},
		{"the queue is cancelled with the turn",
			[]told{entered(1, 2, 1, 1, a), queued(3, 4, 2), cancelled(5, 6, 1, true),
				read(7, 8, []parley.ID{a, b}, 1, 1)}, true},
		{"a cancel takes what comes next",
			[]told{entered(1, 2, 1, 1, a), queued(3, 4, 2), cancelled(5, 6, 2, false),
				read(7, 8, []parley.ID{a, b}, 1, 1)}, true},

		{"a read that is too old", []told{entered(1, 2, 1, 1, a), queued(3, 4, 2),
			read(5, 6, []parley.ID{a}, 1, 1)}, false},
		{"a message goes lost", []told{entered(1, 2, 1, 1, a), queued(3, 4, 2), read(5, 6, []parley.ID{a}, 1, 1, 2),
			read(7, 8, []parley.ID{a, b, c}, 1, 1)}, false},
		{"a message is there twice",
			[]told{entered(1, 2, 1, 1, a), queued(3, 4, 2), read(5, 6, []parley.ID{a}, 1, 1, 2, 2)}, false},
		{"the queue changes its order",
			[]told{entered(1, 2, 1, 1, a), queued(3, 9, 2), queued(3, 9, 3), read(10, 11, []parley.ID{a}, 1, 1, 3, 2),
				read(12, 13, []parley.ID{a}, 1, 1, 2, 3)}, false},
		{"the record changes", []told{entered(1, 2, 1, 1, a), read(3, 4, []parley.ID{a, b}, 1, 1),
			read(5, 6, []parley.ID{a, c}, 1, 1)}, false},
		{"the record shrinks", []told{entered(1, 2, 1, 1, a), read(3, 4, []parley.ID{a, b}, 1, 1),
			read(5, 6, []parley.ID{a}, 1, 1)}, false},
		{"a place is given twice", []told{entered(1, 2, 1, 1, a), entered(3, 4, 2, 1, b)}, false},
		{"back into the queue", []told{entered(1, 2, 1, 1, a), queued(3, 4, 2),
			read(5, 6, []parley.ID{a, b, c}, 2, 1, 2), read(7, 8, []parley.ID{a, b, c}, 1, 1, 2)}, false},
		{"one enters past the queue",
			[]told{entered(1, 2, 1, 1, a), queued(3, 4, 2), entered(5, 6, 3, 2, b),
				read(7, 8, []parley.ID{a, b}, 2, 1, 3, 2)}, false},
		{"queued behind nothing", []told{queued(1, 2, 1)}, false},
		{"queued behind a turn that was cancelled",
			[]told{entered(1, 2, 1, 1, a), cancelled(3, 4, 1, false), queued(5, 6, 2)}, false},
		{"the cancelled queue comes back",
			[]told{entered(1, 2, 1, 1, a), queued(3, 4, 2), cancelled(5, 6, 1, true),
				read(7, 8, []parley.ID{a, b}, 1, 1, 2)}, false},
		{"a cancel of what nobody posted", []told{entered(1, 2, 1, 1, a), cancelled(3, 4, 7, false)}, false},
	} {
		var operations []porcupine.Operation
		for i, o := range test.history {
			operations = append(
				operations,
				porcupine.Operation{ClientId: i, Input: o.in, Output: o.out, Call: o.from, Return: o.to},
			)
		}
		if got := porcupine.CheckOperationsTimeout(
			sessionModel(nil),
			operations,
			10*time.Second,
		); (got == porcupine.Ok) != test.right {
			t.Errorf("%s: the checker says %s", test.name, got)
		}
	}
}
