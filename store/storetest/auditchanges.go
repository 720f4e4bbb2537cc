package storetest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

// calls returns the context of a call by the world's owner, and its audit intent.
func (w *world) calls(action string, target ...parley.ID) (context.Context, *store.AuditIntent) {
	intent := store.NewAuditIntent(
		parley.AuditEntry{WorkspaceID: w.scope.WorkspaceID, PrincipalID: w.owner.ID, PrincipalName: w.owner.Name,
			Action: action, RequestID: parley.NewID()},
	)
	for _, id := range target {
		intent.About(parley.ID{}, id)
	}
	return store.WithAudit(w.ctx, intent), intent
}

// concern is the subject of an entry.
type concern struct{ Session, Target parley.ID }

// told returns the subjects of an action's entries, oldest first.
func (w *world) told(t reporter, action string) (about []concern) {
	t.Helper()
	entries, err := w.store.Audit(w.ctx, w.scope.WorkspaceID, store.AuditQuery{Ascending: true, Limit: parley.MaxPage})
	must(t, "Audit", err)
	for _, e := range entries {
		if e.Action == action {
			about = append(about, concern{e.SessionID, e.TargetID})
			if e.PrincipalID != w.owner.ID || e.RequestID.IsZero() || e.At == 0 {
				t.Errorf("an incomplete entry: %+v", e)
			}
		}
	}
	return about
}

// tells requires exactly these entries of an action.
func (w *world) tells(t reporter, action string, want ...concern) {
	t.Helper()
	if diff := cmp.Diff(want, w.told(t, action)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", action, diff)
	}
}

func testAuditWithChange(t *testing.T, w *world) {
	session := w.session(t)
	ctx, intent := w.calls("post")
	posted, err := w.store.PostMessage(ctx, w.scope, session, w.say("hello", keyed("k", "hello")), parley.ID{})
	must(t, "PostMessage", err)
	w.tells(t, "post", concern{session, posted.Message.ID})
	if left := intent.Entries(session, posted.Message.ID); len(left) > 0 {
		t.Errorf("written entries are returned again: %+v", left)
	}
	ctx, intent = w.calls("repeat")
	again, err := w.store.PostMessage(ctx, w.scope, session, w.say("hello", keyed("k", "hello")), parley.ID{})
	if err != nil || !again.Replayed {
		t.Fatalf("a repeat gives %+v, %v", again, err)
	}
	w.tells(t, "repeat")
	if len(intent.Entries(session, posted.Message.ID)) != 1 {
		t.Errorf("the entry of a repeat without writes counts as written")
	}
	ctx, _ = w.calls("refused")
	_, err = w.store.PostMessage(ctx, w.scope, session, w.say("no", during(parley.DuringReject)), parley.ID{})
	refused(t, "a post that may not wait", err, parley.CodeBusy)
	w.tells(t, "refused")
	ctx, _ = w.calls("nowhere")
	_, err = w.store.PostMessage(ctx, w.scope, parley.NewID(), w.say("no"), parley.ID{})
	refused(t, "a post to no session", err, parley.CodeNotFound)
	w.tells(t, "nowhere")
	_, err = w.store.PostMessage(w.ctx, w.scope, session, w.say("nobody asked"), parley.ID{})
	must(t, "PostMessage", err)
	entries, err := w.store.Audit(w.ctx, w.scope.WorkspaceID, store.AuditQuery{SessionID: session, Limit: 10})
	if err != nil || len(entries) != 1 {
		t.Errorf("%d entries of the session, %v; want the one of the post", len(entries), err)
	}
}

func testAuditFirstChange(t *testing.T, w *world) {
	session := w.session(t)
	w.post(t, session, w.say("one"))
	ctx, _ := w.calls("several")
	_, err := w.store.PostMessage(ctx, w.scope, session, w.say("no", during(parley.DuringReject)), parley.ID{})
	refused(t, "a post that may not wait", err, parley.CodeBusy)
	second, err := w.store.PostMessage(ctx, w.scope, session, w.say("two"), parley.ID{})
	must(t, "PostMessage", err)
	_, err = w.store.PostMessage(ctx, w.scope, session, w.say("three"), parley.ID{})
	must(t, "PostMessage", err)
	w.tells(t, "several", concern{session, second.Message.ID})
	yes := true
	w.session(t, func(s *parley.Session) { s.Feature = "login" })
	busy := w.session(t, func(s *parley.Session) { s.Feature = "login" })
	w.post(t, busy, w.say("wait"))
	w.session(t, func(s *parley.Session) { s.Feature = "login" })
	ctx, intent := w.calls("archiveFeature")
	archived, _, err := w.store.ArchiveFeature(ctx, w.scope, "login")
	must(t, "ArchiveFeature", err)
	var want []concern
	for _, id := range archived {
		want = append(want, concern{Session: id})
	}
	if len(want) != 2 || len(intent.Entries(parley.ID{}, parley.ID{})) > 0 {
		t.Fatalf("archived %v, left to be written %+v", archived, intent.Entries(parley.ID{}, parley.ID{}))
	}
	w.tells(t, "archiveFeature", want...)
	ctx, _ = w.calls("unseen")
	_, err = w.store.UpdateSession(ctx, w.guest(), busy, store.SessionChange{Pinned: &yes})
	refused(t, "a change by somebody who does not see the session", err, parley.CodeNotFound)
	w.tells(t, "unseen")
}

func testAuditFound(t *testing.T, w *world) {
	open := func(action string, first *store.NewMessage) store.Opened {
		t.Helper()
		session := w.newSession()
		session.Key = "dev/login"
		ctx, _ := w.calls(action)
		opened, err := w.store.EnsureSession(
			ctx,
			w.scope,
			store.NewSession{Session: session, First: first},
			parley.ID{},
		)
		must(t, "EnsureSession", err)
		return opened
	}
	made := open("made", nil)
	w.tells(t, "made", concern{Session: made.Session.ID})
	open("found", nil)
	w.tells(t, "found")
	first := w.say("hello")
	open("posted", &first)
	w.tells(t, "posted", concern{made.Session.ID, first.ID})
	ctx, _ := w.calls("fork")
	store.AuditFrom(ctx).About(made.Session.ID, parley.ID{})
	said := w.say("another way")
	fork, err := w.store.Fork(
		ctx,
		w.scope,
		w.newFork(made.Session.ID, 1, func(f *store.NewFork) { f.First = &said }),
		parley.ID{},
	)
	must(t, "Fork", err)
	w.tells(t, "fork", concern{Session: made.Session.ID}, concern{fork.Session.ID, said.ID})
}

// testAuditAtOnce: many sessions written concurrently share transactions, and some posts are refused.
func testAuditAtOnce(t *testing.T, w *world) {
	const sessions, posts = 16, 6
	var mu sync.Mutex // guards want
	var want []concern
	var all sync.WaitGroup
	for range sessions {
		session := w.session(t)
		all.Go(func() {
			for n := range posts {
				how := parley.DuringQueue
				if n%2 == 1 {
					how = parley.DuringReject
				}
				ctx, _ := w.calls("post")
				posted, err := w.store.PostMessage(
					ctx,
					w.scope,
					session,
					w.say("message "+strconv.Itoa(n), during(how)),
					parley.ID{},
				)
				if err != nil {
					if parley.ErrorCode(err) != parley.CodeBusy {
						t.Errorf("PostMessage: %v", err)
					}
					continue
				}
				mu.Lock()
				want = append(want, concern{session, posted.Message.ID})
				mu.Unlock()
			}
		})
	}
	all.Wait()
	got := w.told(t, "post")
	byTarget := func(a, b concern) int { return a.Target.Compare(b.Target) }
	slices.SortFunc(want, byTarget)
	slices.SortFunc(got, byTarget)
	if diff := cmp.Diff(want, got); diff != "" || len(want) != sessions*posts/2 {
		t.Errorf("%d posts (-want +got):\n%s", len(want), diff)
	}
}

// sharedAudit: two processes write one session concurrently, so transitions are computed again, and each leaves one
// entry.
func sharedAudit(t *testing.T, w, other *world) {
	const posts = 12
	session := w.session(t)
	var all sync.WaitGroup
	for _, at := range []*world{w, other} {
		all.Go(func() {
			for range posts {
				ctx, _ := at.calls("post")
				if _, err := at.store.PostMessage(ctx, at.scope, session, at.say("hello"), parley.ID{}); err != nil {
					t.Errorf("PostMessage: %v", err)
				}
			}
		})
	}
	all.Wait()
	entries, seen := w.told(t, "post"), map[concern]bool{}
	for _, e := range entries {
		seen[e] = true
	}
	s := w.check(t, session)
	for _, m := range append(s.Record, s.Queue...) {
		if !seen[concern{session, m.ID}] {
			t.Errorf("message %s has no entry", m.ID)
		}
	}
	if len(entries) != 2*posts || len(s.Record)+len(s.Queue) != 2*posts {
		t.Errorf("%d entries of %d messages; want %d", len(entries), len(s.Record)+len(s.Queue), 2*posts)
	}
}

// testAuditEveryChange calls each method that changes something for a principal, and again where the repetition changes
// nothing.
func testAuditEveryChange(t *testing.T, w *world) {
	for _, change := range w.changes(t) {
		ctx, intent := w.calls(change.name, change.means...)
		if change.session {
			intent.About(change.want[0].Session, parley.ID{})
		}
		must(t, change.name, change.run(ctx))
		w.tells(t, change.name, change.want...)
		if change.again == parley.CodeInternal {
			continue
		}
		ctx, _ = w.calls(change.name + ", again")
		err := change.run(ctx)
		if got := parley.ErrorCode(err); got != change.again {
			t.Errorf("%s, again: %v (code %q); want %q", change.name, err, got, change.again)
		}
		w.tells(t, change.name+", again")
	}
}

// audited is one such method.
type audited struct {
	name    string
	means   []parley.ID // targets that the engine knows beforehand
	session bool        // whether the engine knows the session
	run     func(ctx context.Context) error
	want    []concern
	again   parley.Code // of a second call, which changes nothing; CodeInternal: no second call
}

func (w *world) changes(t *testing.T) []audited {
	workspace, no := w.scope.WorkspaceID, parley.CodeInternal
	only := func(target parley.ID) []concern { return []concern{{Target: target}} }
	agent := w.newAgent("audited")
	key := newKey("", "audited", parley.RoleMember)
	key.Key.WorkspaceID = workspace
	signIn := newSignIn(w.owner, "audited", parley.Now())
	project := parley.Project{ID: parley.NewID(), WorkspaceID: workspace, Path: "/srv/audited", Name: "audited"}
	file := w.newFile("audited.txt", pieces(9))
	w.append(t, file.BlobID, pieces(9))
	one, reader := w.session(t), w.session(t)
	shared := concern{one, reader}
	queueing := w.session(t)
	w.post(t, queueing, w.say("first"))
	queued, second := w.post(t, queueing, w.say("second")).Message.ID, w.post(t, queueing, w.say("third")).Message.ID
	broken := w.broken(t, parley.ClassStream)
	again := w.again("")
	waiting, _, approval := w.asked(t)
	summed := w.session(t)
	w.exchange(t, summed, "q", "a")
	summary := w.compacted(t, summed, 2, "short").MessageID
	shorter, err := parley.EncodeContent(parley.TextContent{Text: "shorter"})
	must(t, "EncodeContent", err)
	outside, draft := w.streaming(t)
	looping := w.newLoop(3)
	inLoop := w.session(t)
	pinned := true
	return []audited{
		{"create agent", nil, false, func(ctx context.Context) error {
			_, _, err := w.store.CreateAgent(ctx, agent, store.Idempotency{})
			return err
		}, only(agent.ID), no},
		{"update agent", []parley.ID{agent.ID}, false, func(ctx context.Context) error {
			current, err := w.store.Agent(w.ctx, workspace, agent.ID.String())
			must(t, "Agent", err)
			current.Name = "other"
			current.Version = 1
			_, err = w.store.UpdateAgent(ctx, current)
			return err
		}, only(agent.ID), parley.CodeConflict},
		{
			"create key",
			nil,
			false,
			func(ctx context.Context) error { _, err := w.store.CreateKey(ctx, key); return err },
			only(key.Key.ID),
			no,
		},
		{
			"revoke key",
			[]parley.ID{key.Key.ID},
			false,
			func(ctx context.Context) error { _, err := w.store.RevokeKey(ctx, workspace, key.Key.ID); return err },
			only(key.Key.ID),
			"",
		},
		{
			"sign in",
			[]parley.ID{signIn.ID},
			false,
			func(ctx context.Context) error { return w.store.CreateSignIn(ctx, signIn) },
			only(signIn.ID),
			no,
		},
		{"end sign-in", []parley.ID{signIn.ID}, false, func(ctx context.Context) error {
			return w.store.EndSignIn(ctx, workspace, w.owner.ID, signIn.ID)
		}, only(signIn.ID), parley.CodeNotFound},
		{
			"update workspace",
			[]parley.ID{workspace},
			false,
			func(ctx context.Context) error {
				shared := parley.VisibilityWorkspace
				_, err := w.store.UpdateWorkspace(ctx, workspace, store.WorkspaceChange{Visibility: &shared})
				return err
			},
			only(workspace),
			"",
		},
		{
			"choose project",
			nil,
			false,
			func(ctx context.Context) error { _, _, err := w.store.ChooseProject(ctx, project); return err },
			only(project.ID),
			no,
		},
		{"choose it again", nil, false, func(ctx context.Context) error {
			same := project
			same.ID = parley.NewID()
			_, _, err := w.store.ChooseProject(ctx, same)
			return err
		}, only(project.ID), no},
		{
			"update project",
			[]parley.ID{project.ID},
			false,
			func(ctx context.Context) error {
				_, err := w.store.UpdateProject(
					ctx,
					store.Scope{WorkspaceID: workspace},
					project.ID,
					store.ProjectChange{Name: new("renamed")},
				)
				return err
			},
			only(project.ID),
			"",
		},
		{
			"delete project",
			[]parley.ID{project.ID},
			false,
			func(ctx context.Context) error { return w.store.DeleteProject(ctx, w.scope, project.ID, false) },
			only(project.ID),
			parley.CodeNotFound,
		},
		{"upload file", nil, false, func(ctx context.Context) error {
			_, _, err := w.store.FinishUpload(ctx, file, parley.Quota{})
			return err
		}, only(file.ID), parley.CodeConflict},
		{
			"delete file",
			[]parley.ID{file.ID},
			false,
			func(ctx context.Context) error { return w.store.DeleteFile(ctx, w.scope, file.ID) },
			only(file.ID),
			parley.CodeNotFound,
		},
		{"share", nil, true, func(ctx context.Context) error {
			store.AuditFrom(ctx).About(one, reader)
			_, _, err := w.store.Share(
				ctx,
				w.scope,
				parley.Share{SessionID: one, ReaderID: reader, SharedBy: w.owner.Author()},
			)
			return err
		}, []concern{shared}, ""},
		{"unshare", nil, true, func(ctx context.Context) error {
			store.AuditFrom(ctx).About(one, reader)
			return w.store.Unshare(ctx, w.scope, one, reader)
		}, []concern{shared}, parley.CodeNotFound},
		{
			"clear cache",
			nil,
			false,
			func(ctx context.Context) error { _, err := w.store.ClearResponseCache(ctx, workspace); return err },
			[]concern{{}},
			no,
		},
		{"update session", nil, true, func(ctx context.Context) error {
			_, err := w.store.UpdateSession(ctx, w.scope, one, store.SessionChange{Pinned: &pinned})
			return err
		}, []concern{{Session: one}}, no},
		{"edit queued", []parley.ID{queued}, false, func(ctx context.Context) error {
			_, err := w.store.EditQueued(ctx, w.scope, w.owner.ID, queued, []byte(`{"text":"second, better"}`))
			return err
		}, []concern{{queueing, queued}}, no},
		{"move queued", []parley.ID{second}, false, func(ctx context.Context) error {
			_, err := w.store.MoveQueued(ctx, w.scope, second, queued)
			return err
		}, []concern{{queueing, second}}, no},
		{"mark", []parley.ID{queued}, false, func(ctx context.Context) error {
			_, err := w.store.MarkMessage(ctx, w.scope, parley.ID{}, queued, parley.MarksChange{Pinned: &pinned})
			return err
		}, []concern{{queueing, queued}}, ""},
		{"send queued", []parley.ID{second}, false, func(ctx context.Context) error {
			_, err := w.store.SendQueued(ctx, w.scope, second, parley.DuringInterrupt, parley.ID{})
			return err
		}, []concern{{queueing, second}}, no},
		{
			"remove queued",
			[]parley.ID{queued},
			false,
			func(ctx context.Context) error { _, err := w.store.RemoveQueued(ctx, w.scope, queued); return err },
			[]concern{{queueing, queued}},
			parley.CodeConflict,
		},
		{"retry turn", []parley.ID{broken.Turn.ID}, false, func(ctx context.Context) error {
			_, err := w.store.RetryTurn(ctx, w.scope, broken.Fence.SessionID, broken.Turn.ID, again, parley.ID{})
			return err
		}, []concern{{broken.Fence.SessionID, broken.Turn.ID}}, parley.CodeConflict},
		{"decide", []parley.ID{approval}, false, func(ctx context.Context) error {
			_, err := w.store.DecideApproval(
				ctx,
				w.scope,
				approval,
				w.decision(parley.Decision{Decision: parley.DecideApprove}),
				parley.ID{},
			)
			return err
		}, []concern{{waiting.Fence.SessionID, approval}}, parley.CodeConflict},
		{"append", []parley.ID{draft}, false, func(ctx context.Context) error {
			_, err := w.store.AppendOutside(
				ctx,
				w.scope,
				draft,
				store.OutsideAppend{Kind: parley.KindText, Text: "half"},
			)
			return err
		}, []concern{{outside, draft}}, no},
		{"settle", []parley.ID{draft}, false, func(ctx context.Context) error {
			_, err := w.store.SettleOutside(ctx, w.scope, draft, store.OutsideSettle{Status: parley.MessageCompleted})
			return err
		}, []concern{{outside, draft}}, no},
		{"start loop", nil, true, func(ctx context.Context) error {
			_, err := w.store.StartLoop(ctx, w.scope, inLoop, looping, parley.ID{})
			return err
		}, []concern{{inLoop, looping.Loop.ID}}, parley.CodeConflict},
		{"stop loop", []parley.ID{looping.Loop.ID}, false, func(ctx context.Context) error {
			_, err := w.store.StopLoop(ctx, w.scope, inLoop, looping.Loop.ID)
			return err
		}, []concern{{inLoop, looping.Loop.ID}}, no},
		{"cancel", nil, true, func(ctx context.Context) error {
			_, err := w.store.RequestCancel(ctx, w.scope, queueing, parley.ID{}, true)
			return err
		}, []concern{{Session: queueing}}, no},
		{
			"clear context",
			nil,
			true,
			func(ctx context.Context) error { _, err := w.store.ClearContext(ctx, w.scope, outside); return err },
			[]concern{{Session: outside}},
			no,
		},
		{"compact", nil, true, func(ctx context.Context) error {
			_, err := w.store.RequestCompaction(
				ctx,
				w.scope,
				outside,
				store.NewCompaction{ID: parley.NewID(), Reason: parley.CompactAsked},
			)
			return err
		}, []concern{{Session: outside}}, parley.CodeConflict},
		{"revise summary", nil, true, func(ctx context.Context) error {
			_, err := w.store.ReviseSummary(ctx, w.scope, summed, store.SummaryRevision{
				OfID: summary, Latest: summary,
				Summary: store.NewSummary{MessageID: parley.NewID(), Author: w.owner.Author(), Content: shorter},
			})
			return err
		}, []concern{{Session: summed}}, parley.CodeConflict},
		{
			"open in a client",
			nil,
			true,
			func(ctx context.Context) error { return w.store.SetClientSession(ctx, w.scope, w.owner.ID, "tab", one) },
			[]concern{{Session: one}},
			no,
		},
		{
			"close the client",
			nil,
			false,
			func(ctx context.Context) error { return w.store.ClearClientSession(ctx, w.scope, w.owner.ID, "tab") },
			[]concern{{}},
			"",
		},
		{
			"delete session",
			nil,
			true,
			func(ctx context.Context) error { return w.store.DeleteSession(ctx, w.scope, one) },
			[]concern{{Session: one}},
			parley.CodeNotFound,
		},
	}
}
