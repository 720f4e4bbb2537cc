package parley_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"example.org/parley"
)

func turnStates() []parley.TurnStatus {
	return []parley.TurnStatus{parley.TurnQueued, parley.TurnRunning, parley.TurnWaiting,
		parley.TurnCompleted, parley.TurnFailed, parley.TurnCancelled}
}

func TestEveryMoveOfEveryTurnState(t *testing.T) {
	t.Parallel()
	legal := map[parley.TurnStatus]map[parley.TurnMove]parley.TurnStatus{
		parley.TurnQueued: {
			parley.MoveClaim:  parley.TurnRunning,
			parley.MoveFail:   parley.TurnFailed,
			parley.MoveCancel: parley.TurnCancelled,
		},
		parley.TurnRunning: {
			parley.MoveRelease: parley.TurnQueued,
			parley.MovePark:    parley.TurnWaiting,
			parley.MoveFinish:  parley.TurnCompleted,
			parley.MoveFail:    parley.TurnFailed,
			parley.MoveCancel:  parley.TurnCancelled,
		},
		parley.TurnWaiting: {
			parley.MoveAnswer: parley.TurnQueued, parley.MoveDeliver: parley.TurnCompleted,
			parley.MoveFail: parley.TurnFailed, parley.MoveCancel: parley.TurnCancelled,
		},
	}
	moves := []parley.TurnMove{parley.MoveClaim, parley.MoveRelease, parley.MovePark, parley.MoveAnswer,
		parley.MoveFinish, parley.MoveDeliver, parley.MoveFail, parley.MoveCancel}
	for _, from := range turnStates() {
		for _, move := range moves {
			want, ok := legal[from][move]
			got, err := from.After(move)
			switch {
			case ok && (err != nil || got != want):
				t.Errorf("a %s turn that moves by %s becomes %s, %v; want %s", from, move, got, err, want)
			case !ok && parley.ErrorCode(err) != parley.CodeConflict:
				t.Errorf("a %s turn may %s: %v; want conflict", from, move, err)
			case !ok && got != from:
				t.Errorf("a refused %s changes %s to %s", move, from, got)
			}
		}
	}
	for _, from := range []parley.TurnStatus{"", "paused"} {
		for _, move := range []parley.TurnMove{parley.MoveClaim, parley.MoveRelease, parley.MovePark, parley.MoveAnswer,
			parley.MoveFinish, parley.MoveDeliver} {
			if _, err := from.After(move); err == nil {
				t.Errorf("the unknown state %q may %s", from, move)
			}
		}
	}
	if _, err := parley.TurnRunning.After("explode"); err == nil {
		t.Error("an unknown move is legal")
	}
}

func TestFinishedTurnsAndSessionStatus(t *testing.T) {
	t.Parallel()
	want := map[parley.TurnStatus]struct {
		finished bool
		session  parley.SessionStatus
	}{
		parley.TurnQueued:    {false, parley.SessionRunning},
		parley.TurnRunning:   {false, parley.SessionRunning},
		parley.TurnWaiting:   {false, parley.SessionWaiting},
		parley.TurnCompleted: {true, parley.SessionCompleted},
		parley.TurnFailed:    {true, parley.SessionFailed},
		parley.TurnCancelled: {true, parley.SessionCancelled},
	}
	for _, status := range turnStates() {
		if status.Finished() != want[status].finished {
			t.Errorf("%s: finished is %t", status, status.Finished())
		}
		if got := parley.SessionStatusOf(status); got != want[status].session {
			t.Errorf("a %s turn makes the session %s; want %s", status, got, want[status].session)
		}
	}
	if got := parley.SessionStatusOf(""); got != parley.SessionPending {
		t.Errorf("a session without turns is %s", got)
	}
}

func TestEveryMoveOfEveryMessageState(t *testing.T) {
	t.Parallel()
	states := []parley.MessageStatus{parley.MessageQueued, parley.MessageStreaming, parley.MessageCompleted,
		parley.MessageFailed, parley.MessageCancelled}
	legal := map[[2]parley.MessageStatus]bool{
		{parley.MessageQueued, parley.MessageCompleted}:    true,
		{parley.MessageQueued, parley.MessageCancelled}:    true,
		{parley.MessageStreaming, parley.MessageCompleted}: true,
		{parley.MessageStreaming, parley.MessageFailed}:    true,
		{parley.MessageStreaming, parley.MessageCancelled}: true,
	}
	for _, from := range states {
		for _, to := range states {
			err := from.To(to)
			if legal[[2]parley.MessageStatus{from, to}] != (err == nil) {
				t.Errorf("%s to %s: %v", from, to, err)
			}
			if err != nil && parley.ErrorCode(err) != parley.CodeConflict {
				t.Errorf("%s to %s: code %s; want conflict", from, to, parley.ErrorCode(err))
			}
		}
		if settled := from != parley.MessageQueued && from != parley.MessageStreaming; from.Settled() != settled {
			t.Errorf("%s: settled is %t", from, from.Settled())
		}
	}
}

func TestOnlyThreeEventsEndATurn(t *testing.T) {
	t.Parallel()
	for event, ends := range map[parley.EventType]bool{
		parley.EventSessionCompleted: true, parley.EventSessionFailed: true, parley.EventSessionCancelled: true,
		parley.EventSessionStarted: false, parley.EventSessionWaiting: false, parley.EventStepGenerated: false,
		parley.EventStepError: false, parley.EventMessageRemoved: false, parley.FeedSessionDeleted: false,
	} {
		if event.EndsTurn() != ends {
			t.Errorf("%s: EndsTurn is %t", event, event.EndsTurn())
		}
	}
}

func TestTokensAddUp(t *testing.T) {
	t.Parallel()
	count := func(n int64) *int64 { return &n }
	var sum parley.Tokens
	sum.Add(parley.Usage{InputTokens: count(10), OutputTokens: count(4), CachedTokens: count(3)})
	sum.Add(parley.Usage{})
	sum.Add(parley.Usage{InputTokens: count(1)})
	if want := (parley.Tokens{InputTokens: 11, OutputTokens: 4, CachedTokens: 3, Unknown: 1}); sum != want {
		t.Errorf("got %+v; want %+v", sum, want)
	}
}

// TestATurnsJSONHasEveryField compares the encoder that is written by hand with reflection's, for a turn without
// anything and for turns in which each field has a value.
func TestATurnsJSONHasEveryField(t *testing.T) {
	t.Parallel()
	full := parley.Turn{Error: &parley.Failure{Sentence: "<no> \"answer\" & \u2028"}, Cost: new(parley.Money(1_500))}
	fields := reflect.ValueOf(&full).Elem()
	for i := range fields.NumField() {
		field := fields.Field(i)
		switch field.Kind() {
		case reflect.Array: // an id
			field.Set(reflect.ValueOf(parley.NewID()))
		case reflect.String:
			field.SetString("text " + fields.Type().Field(i).Name)
		case reflect.Int, reflect.Int64:
			field.SetInt(int64(1_000 + i))
		case reflect.Struct: // sums
			for n := range field.NumField() {
				field.Field(n).SetInt(int64(100*i + n))
			}
		case reflect.Pointer: // set above, or not in JSON
		default:
			t.Fatalf("no value for a field of kind %s", field.Kind())
		}
	}
	negative := full
	negative.Cost = new(parley.Money(-1))
	for _, turn := range []parley.Turn{{}, full, negative} {
		type plain parley.Turn
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(struct {
			*plain
			WaitReason *parley.WaitReason `json:"wait_reason"`
			Iteration  *int               `json:"iteration"`
		}{(*plain)(&turn), parley.OrNull(turn.WaitReason), parley.OrNull(turn.Iteration)}); err != nil {
			t.Fatal(err)
		}
		got, err := turn.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if string(got)+"\n" != want.String() {
			t.Errorf("got\n%s\nwant\n%s", got, want.Bytes())
		}
	}
}
