package transition

import (
	"example.org/parley"
	"example.org/parley/store"
)

// Writer writes Changes and is implemented by each store. It has a method for every kind, so a store that forgets one
// does not compile. Each method gets the changes of its kind, never empty; the head is in its final state.
type Writer interface {
	// MoveHead comes first, for every existing session with any change; a store that fences does so here. The row
	// itself changes if Changes.Head is set, its claim if Changes.Claim is.
	MoveHead(h *Head) error
	// Create inserts the listed row, the head row, the tags, and what a fork inherits.
	Create(h *Head, made *Creation) error
	ClearContext(h *Head, event int64) error
	UpdateListed(h *Head) error
	Accept(h *Head, accepted *parley.Accepted) error
	UpdateSetting(h *Head, setting *Setting) error
	Bury(h *Head) error

	AppendEvents(h *Head, events []Event) error

	RemoveQueued(h *Head, ids []parley.ID) error
	InsertMessages(h *Head, messages []NewMessage) error
	EnterMessages(h *Head, messages []*parley.Message) error
	Requeue(h *Head, entries []Entry) error
	EditQueued(h *Head, messages []*parley.Message) error
	Mark(h *Head, marked []Marked) error
	SettleMessages(h *Head, rows []SettledRow) error

	InsertLoops(h *Head, loops []NewLoop) error
	UpdateLoops(h *Head, loops []NewLoop) error
	InsertTurns(h *Head, turns []*parley.Turn) error
	ResumeTurns(h *Head, resumed []Resumed) error
	SuspectTurn(h *Head, turn *parley.Turn) error
	UpdateTurns(h *Head, turns []*parley.Turn) error

	InsertSchedules(h *Head, schedules []NewSchedule) error
	// MoveSchedules voids the transition if a row has moved on.
	MoveSchedules(h *Head, moved []MovedSchedule) error

	InsertKnowledge(h *Head, items []NewKnowledge) error
	// UpdateKnowledge voids the transition if a row has moved on.
	UpdateKnowledge(h *Head, items []*parley.KnowledgeItem) error
	InsertKnowledgeBlock(h *Head, block *parley.KnowledgeBlock) error
	TellKnowledge(h *Head, block *parley.KnowledgeBlock) error

	InsertTransform(h *Head, opened *parley.Transform) error
	// MoveTransform changes the row and, if the transform has completed, writes its versions: it locks their artifacts
	// in the order of the writings.
	MoveTransform(h *Head, moved *MovedTransform) error

	InsertCalls(h *Head, calls []NewCall) error
	SettleCalls(h *Head, calls []store.CallSettled) error
	RecordReplay(h *Head, replay *store.NewReplay) error

	OpenOutside(h *Head, opened *Outside) error
	GrowOutside(h *Head, grown *Grown) error
	CloseOutside(h *Head) error

	InsertApprovals(h *Head, approvals []*parley.Approval) error
	UpdateApprovals(h *Head, approvals []*parley.Approval) error

	InsertDelegations(h *Head, delegations []*parley.Delegation) error
	MoveDelegations(h *Head, moved []MovedDelegation) error
	HearDelegations(h *Head, heard []Heard) error

	InsertInbox(h *Head, items []*parley.InboxItem) error
	UpdateInbox(h *Head, items []*parley.InboxItem) error

	PutCompaction(h *Head, compaction *parley.Compaction) error
	UpdateReady(h *Head) error

	ForgetUses(h *Head, messages []parley.ID) error
	UseFiles(h *Head, uses []FileUse) error
	OpenClients(h *Head, opened []ClientOpened) error
	NoteDeliveries(h *Head, delivered []Delivery) error
	LeaveErrands(h *Head, errands []Errand) error

	// The rest concerns budgets, which sessions share: a store writes it last, with WriteBudgets.

	Spend(h *Head, spent []Spent) error
	Reserve(h *Head, calls []NewCall) error
	Park(h *Head, parked *Parked) error
	Warn(h *Head, warned *Warned) error
	CountRequest(h *Head, rated *Rated) error
	Relimit(h *Head) error
}

// kind is one kind of changes: the field of Changes, whether it has any, and its writer.
type kind struct {
	field string
	some  func(*Changes) bool
	write func(Writer, *Head, *Changes) error
}

// many makes a kind from a list field, one from a pointer field, fact from a condition.
func many[T any](field string, of func(*Changes) []T, write func(Writer, *Head, []T) error) kind {
	return kind{
		field,
		func(c *Changes) bool { return len(of(c)) > 0 },
		func(w Writer, h *Head, c *Changes) error { return write(w, h, of(c)) },
	}
}

func one[T any](field string, of func(*Changes) *T, write func(Writer, *Head, *T) error) kind {
	return kind{
		field,
		func(c *Changes) bool { return of(c) != nil },
		func(w Writer, h *Head, c *Changes) error { return write(w, h, of(c)) },
	}
}

func fact(field string, of func(*Changes) bool, write func(Writer, *Head) error) kind {
	return kind{field, of, func(w Writer, h *Head, _ *Changes) error { return write(w, h) }}
}

// kinds are all kinds except those of budgets, in the order of writing. Head is not one; see Write.
var kinds = [...]kind{ //nolint:gochecknoglobals // never written
	one("New", func(c *Changes) *Creation { return c.New }, Writer.Create),
	{
		"ContextCleared",
		func(c *Changes) bool { return c.ContextCleared != 0 },
		func(w Writer, h *Head, c *Changes) error { return w.ClearContext(h, c.ContextCleared) },
	},
	fact("Listed", func(c *Changes) bool { return c.Listed && c.New == nil }, Writer.UpdateListed),
	one("Accepted", func(c *Changes) *parley.Accepted { return c.Accepted }, Writer.Accept),
	one("Setting", func(c *Changes) *Setting { return c.Setting }, Writer.UpdateSetting),
	fact("Buried", func(c *Changes) bool { return c.Buried }, Writer.Bury),

	many("Events", func(c *Changes) []Event { return c.Events }, Writer.AppendEvents),

	// remove entries before others take their positions
	many("Removed", func(c *Changes) []parley.ID { return c.Removed }, Writer.RemoveQueued),
	many("NewMessages", func(c *Changes) []NewMessage { return c.NewMessages }, Writer.InsertMessages),
	many("Entered", func(c *Changes) []*parley.Message { return c.Entered }, Writer.EnterMessages),
	many("Requeued", func(c *Changes) []Entry { return c.Requeued }, Writer.Requeue),
	many("Edited", func(c *Changes) []*parley.Message { return c.Edited }, Writer.EditQueued),
	many("Marked", func(c *Changes) []Marked { return c.Marked }, Writer.Mark),
	many("Settled", func(c *Changes) []SettledRow { return c.Settled }, Writer.SettleMessages),

	many("NewLoops", func(c *Changes) []NewLoop { return c.NewLoops }, Writer.InsertLoops),
	many("Loops", func(c *Changes) []NewLoop { return c.Loops }, Writer.UpdateLoops),
	many("NewTurns", func(c *Changes) []*parley.Turn { return c.NewTurns }, Writer.InsertTurns),
	many("Resumed", func(c *Changes) []Resumed { return c.Resumed }, Writer.ResumeTurns),
	one("Suspect", func(c *Changes) *parley.Turn { return c.Suspect }, Writer.SuspectTurn),
	many("Turns", func(c *Changes) []*parley.Turn { return c.Turns }, Writer.UpdateTurns),

	many("NewSchedules", func(c *Changes) []NewSchedule { return c.NewSchedules }, Writer.InsertSchedules),
	many("Schedules", func(c *Changes) []MovedSchedule { return c.Schedules }, Writer.MoveSchedules),

	many("NewKnowledge", func(c *Changes) []NewKnowledge { return c.NewKnowledge }, Writer.InsertKnowledge),
	many("Knowledge", func(c *Changes) []*parley.KnowledgeItem { return c.Knowledge }, Writer.UpdateKnowledge),
	one("Chosen", func(c *Changes) *parley.KnowledgeBlock { return c.Chosen }, Writer.InsertKnowledgeBlock),
	one("Told", func(c *Changes) *parley.KnowledgeBlock { return c.Told }, Writer.TellKnowledge),

	one("NewTransform", func(c *Changes) *parley.Transform { return c.NewTransform }, Writer.InsertTransform),
	one("Transform", func(c *Changes) *MovedTransform { return c.Transform }, Writer.MoveTransform),

	many("NewCalls", func(c *Changes) []NewCall { return c.NewCalls }, Writer.InsertCalls),
	many("Calls", func(c *Changes) []store.CallSettled { return c.Calls }, Writer.SettleCalls),
	one("Replay", func(c *Changes) *store.NewReplay { return c.Replay }, Writer.RecordReplay),

	one("OutsideOpened", func(c *Changes) *Outside { return c.OutsideOpened }, Writer.OpenOutside),
	one("OutsideGrown", func(c *Changes) *Grown { return c.OutsideGrown }, Writer.GrowOutside),
	fact("OutsideClosed", func(c *Changes) bool { return c.OutsideClosed }, Writer.CloseOutside),

	many("NewApprovals", func(c *Changes) []*parley.Approval { return c.NewApprovals }, Writer.InsertApprovals),
	many("Approvals", func(c *Changes) []*parley.Approval { return c.Approvals }, Writer.UpdateApprovals),

	many("NewDelegations", func(c *Changes) []*parley.Delegation { return c.NewDelegations }, Writer.InsertDelegations),
	many("Delegations", func(c *Changes) []MovedDelegation { return c.Delegations }, Writer.MoveDelegations),
	many("Heard", func(c *Changes) []Heard { return c.Heard }, Writer.HearDelegations),

	many("NewInbox", func(c *Changes) []*parley.InboxItem { return c.NewInbox }, Writer.InsertInbox),
	many("Inbox", func(c *Changes) []*parley.InboxItem { return c.Inbox }, Writer.UpdateInbox),

	one("Compaction", func(c *Changes) *parley.Compaction { return c.Compaction }, Writer.PutCompaction),
	fact("Unready Ready", func(c *Changes) bool { return c.Unready || c.Ready }, Writer.UpdateReady),

	many("Unfiled", func(c *Changes) []parley.ID { return c.Unfiled }, Writer.ForgetUses),
	many("Filed", func(c *Changes) []FileUse { return c.Filed }, Writer.UseFiles),
	many("Opened", func(c *Changes) []ClientOpened { return c.Opened }, Writer.OpenClients),
	many("Delivered", func(c *Changes) []Delivery { return c.Delivered }, Writer.NoteDeliveries),
	many("Outbox", func(c *Changes) []Errand { return c.Outbox }, Writer.LeaveErrands),
}

// budgetKinds are the kinds of budgets. Spending comes first, because it makes room for reservations.
var budgetKinds = [...]kind{ //nolint:gochecknoglobals // never written
	many("Spent", func(c *Changes) []Spent { return c.Spent }, Writer.Spend),
	many("NewCalls", func(c *Changes) []NewCall { return c.NewCalls }, Writer.Reserve),
	one("Parked", func(c *Changes) *Parked { return c.Parked }, Writer.Park),
	one("Warned", func(c *Changes) *Warned { return c.Warned }, Writer.Warn),
	one("Rated", func(c *Changes) *Rated { return c.Rated }, Writer.CountRequest),
	fact("Relimited", func(c *Changes) bool { return c.Relimited }, Writer.Relimit),
}

// Any reports whether there is anything to write.
func (c *Changes) Any() bool {
	if c.Head {
		return true
	}
	for i := range kinds {
		if kinds[i].some(c) {
			return true
		}
	}
	for i := range budgetKinds {
		if budgetKinds[i].some(c) {
			return true
		}
	}
	return false
}

// Write writes what the transition changed of a session, if anything.
func (h *Head) Write(w Writer) error {
	c := &h.Changes
	if !c.Any() {
		return nil
	}
	if c.New == nil {
		if err := w.MoveHead(h); err != nil {
			return err
		}
	}
	return writeAll(kinds[:], w, h)
}

// WriteBudgets writes what the transition changed of the session's budgets.
func (h *Head) WriteBudgets(w Writer) error { return writeAll(budgetKinds[:], w, h) }

func writeAll(kinds []kind, w Writer, h *Head) error {
	for i := range kinds {
		if !kinds[i].some(&h.Changes) {
			continue
		}
		if err := kinds[i].write(w, h, &h.Changes); err != nil {
			return err
		}
	}
	return nil
}
