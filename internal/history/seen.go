package history

import (
	"context"
	"encoding/json"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/event"
)

// MaxWait is how long a request waits for the end of its turn. The turn continues without it.
const MaxWait = 10 * time.Minute

// keepTime bounds how long a request's names may take to be stored after its client is gone.
const keepTime = 10 * time.Second

// Progress is what an answer knows of its turn.
type Progress struct {
	Over   bool              // the turn ended, or waits for somebody
	Reason parley.WaitReason // what it waits for; "" once it ended
	Ended  parley.Turn       // as it ended

	Settled *event.Settled // what the last event settled; nil if that was no answer
	only    *event.Settled // the only answer so far
	more    bool           // something else happened, which the record tells
}

// Happened follows the turn's events.
func (p *Progress) Happened(e *parley.Event) (err error) {
	p.Settled = nil
	switch {
	case e.Type == parley.EventSessionStarted, e.Type == parley.EventStepStarted,
		e.Type == parley.EventMessageCreated: // nothing that a client sees
	case e.Type == parley.EventStepGenerated:
		p.Settled, err = event.Read[event.Settled](e)
		p.more = p.more || p.only != nil
		p.only = p.Settled
		return err
	case e.Type.EndsTurn():
		end, err := event.Read[event.TurnEnd](e)
		if err != nil {
			return err
		}
		p.Over, p.Ended = true, end.Turn
	case e.Type == parley.EventSessionWaiting:
		p.more = true
		waiting, err := event.Read[event.SessionWaiting](e)
		if err != nil {
			return err
		}
		switch waiting.Reason {
		case parley.WaitChild, parley.WaitRateLimit, parley.WaitOutside: // it continues by itself
		default:
			p.Over, p.Reason = true, waiting.Reason
		}
	default:
		p.more = true
	}
	return nil
}

// Answer is the answer of a turn that ended, as the record has it, if its events told all that a client sees of it:
// this answer, and how it came about. Else it is nil; events of earlier versions did not say why the model stopped.
func (p *Progress) Answer() *parley.Message {
	said := p.only
	if p.more || !p.Over || said == nil || len(said.Messages) != 1 || said.Finish == nil || said.Usage == nil {
		return nil
	}
	m := &said.Messages[0]
	if m.Role != parley.RoleAssistant || m.Status != parley.MessageCompleted || string(m.Content) == "null" {
		return nil
	}
	made := &parley.Message{
		ID: m.MessageID, Role: m.Role, Status: m.Status, Content: m.Content, Usage: (*parley.Usage)(said.Usage),
	}
	if *said.Finish == parley.FinishLength {
		made.Metadata = json.RawMessage(`{"finish":"length"}`)
	}
	return made
}

// Keep stores names of positions. If it fails, the next request finds out by itself, or begins a session.
func (b *Book) Keep(ctx context.Context, principal parley.Principal, session parley.ID, names []parley.ForeignID) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), keepTime)
	defer stop()
	if most := parley.MaxForeignIDsAtOnce; len(names) > most {
		names = names[len(names)-most:]
	}
	_ = b.Engine.KeepForeignIDs(ctx, principal, session, names)
}

// KeepAnswer stores the name of the position behind an answer as the client has it. The next request finds any other
// answer by what the record has of it; see recognise.
func (b *Book) KeepAnswer(
	ctx context.Context, principal parley.Principal, turn Turn, said parley.Hash, recorded *Message, seen *Segment,
) {
	has := seen.Answer()
	if turn.Waits == "" {
		if has.Text == recorded.Text && has.Refusal == recorded.Refusal && len(has.Calls) == len(recorded.Calls) {
			return
		}
		if has.Hash(said) == recorded.Hash(said) {
			return
		}
	}
	b.Keep(ctx, principal, turn.Session, []parley.ForeignID{{
		Protocol: b.Protocol, Name: has.Hash(said).String(), TargetID: seen.Last,
	}})
}

// Gap separates the texts of a turn's steps, which the client sees as one answer.
const Gap = "\n\n"

// Segment is what a client sees of a turn behind its own last message.
type Segment struct {
	Text, LastText, Reasoning, Refusal string
	Calls                              []parley.ToolCallContent // without results
	Steps                              []Step                   // the answers of Text, one by one
	Cut                                bool                     // at the limit of tokens

	Input, Output, Cached, CacheWritten, Thought int64 // tokens

	Last parley.ID // its last message
}

// Step is one answer of the model.
type Step struct {
	Message         parley.ID
	Reasoning, Text string
}

// Answer is the segment as the client will send it again.
func (s *Segment) Answer() *Message {
	return &Message{Role: Assistant, Text: s.Text, Refusal: s.Refusal, Calls: s.Calls}
}

// SeenBy is Seen for a turn whose events were followed: most turns are one answer, which they have told already.
func (b *Book) SeenBy(ctx context.Context, principal parley.Principal, turn Turn, p *Progress) (Segment, error) {
	if turn.Waits != "" {
		turn.Sequence = 0 // the calls that still wait stand before the results
	} else if m := p.Answer(); m != nil {
		var s Segment
		return s, s.add(m)
	}
	return b.Seen(ctx, principal, turn)
}

// Seen reads the part of a turn that a client sees: the texts of its steps as one, and the calls that wait for results.
// CodeTooLarge if the turn has more messages than MaxAnswerPages hold.
func (b *Book) Seen(ctx context.Context, principal parley.Principal, turn Turn) (Segment, error) {
	s := Segment{}
	paging := engine.Paging{Limit: parley.MaxPage}
	for range MaxAnswerPages {
		page, err := b.Engine.Messages(ctx, principal, turn.Session, engine.MessageList{
			Paging: paging, TurnIDs: []parley.ID{turn.ID}, From: turn.Sequence + 1, RecordOnly: true,
		})
		if err != nil {
			return s, err
		}
		for i := range page.Data {
			m := &page.Data[i]
			if m.Internal {
				continue
			}
			if err := s.add(m); err != nil {
				return s, err
			}
		}
		if page.Next == nil {
			return s, nil
		}
		paging.Cursor = *page.Next
	}
	return s, parley.Errorf(parley.CodeTooLarge,
		"The turn is too long for one answer of this API. Read it in the session %s.", turn.Session)
}

// add adds a message of the record.
func (s *Segment) add(m *parley.Message) (err error) {
	s.use(m.Usage)
	if m.Status == parley.MessageFailed {
		return nil
	}
	switch m.Role {
	case parley.RoleAssistant:
		err = s.hears(m)
	case parley.RoleToolCall:
		var call parley.ToolCallContent
		err = json.Unmarshal(m.Content, &call)
		s.Calls = append(s.Calls, call)
	case parley.RoleToolResult:
		s.answers(m.ToolCallID)
	default:
		return nil
	}
	s.Last = m.ID
	return err
}

// hears adds an assistant's message.
func (s *Segment) hears(m *parley.Message) error {
	var content parley.AssistantContent
	if err := content.UnmarshalJSON(m.Content); err != nil {
		return err
	}
	if content.Text != "" {
		if s.Text != "" {
			s.Text += Gap
		}
		s.Text += content.Text
		s.LastText = content.Text
	}
	if content.Text != "" || content.Reasoning != "" {
		s.Steps = append(s.Steps, Step{m.ID, content.Reasoning, content.Text})
	}
	s.Reasoning += content.Reasoning
	s.Refusal = content.Refusal
	var about struct {
		Finish parley.FinishReason `json:"finish"`
	}
	if json.Unmarshal(m.Metadata, &about) == nil && about.Finish == parley.FinishLength {
		s.Cut = true
	}
	return nil
}

// answers removes a call that has its result.
func (s *Segment) answers(id string) {
	for i := range s.Calls {
		if s.Calls[i].ID == id {
			s.Calls = append(s.Calls[:i], s.Calls[i+1:]...)
			return
		}
	}
}

// use adds a step's usage.
func (s *Segment) use(u *parley.Usage) {
	if u == nil {
		return
	}
	for _, sum := range []struct {
		to   *int64
		from *int64
	}{{&s.Input, u.InputTokens}, {&s.Output, u.OutputTokens}, {&s.Cached, u.CachedTokens},
		{&s.CacheWritten, u.CacheWriteTokens}, {&s.Thought, u.ReasoningTokens}} {
		*sum.to += parley.ValueOf(sum.from)
	}
}
