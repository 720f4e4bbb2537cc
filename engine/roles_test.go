package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// fileIn returns a file of a session's owner that a message of the session uses.
func (h *house) fileIn(t *testing.T, id parley.ID) parley.ID {
	t.Helper()
	session, err := h.Session(t.Context(), h.admin, id)
	if err != nil {
		t.Fatal(err)
	}
	owner := parley.Principal{ID: session.OwnerID, WorkspaceID: session.WorkspaceID, Role: parley.RoleMember}
	file, _, err := h.UploadFile(t.Context(), owner, parley.NewID().String(), strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	no := false
	content := json.RawMessage(`{"files":["` + file.ID.String() + `"],"text":"x"}`)
	if _, err := h.PostMessage(
		t.Context(),
		h.admin,
		id,
		engine.MessageInput{Content: content, Respond: &no},
		store.Idempotency{},
	); err != nil {
		t.Fatal(err)
	}
	return file.ID
}

// artifactIn returns a new artifact in a session.
func (h *house) artifactIn(t *testing.T, id parley.ID) parley.ID {
	t.Helper()
	made, _, err := h.CreateArtifact(t.Context(), h.admin, engine.ArtifactInput{
		SessionID: id, Kind: parley.ArtifactText, Name: "x", Content: json.RawMessage(`"x"`),
	}, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// runBeside returns a new run of a pipeline with the owner and the visibility of a session.
func (h *house) runBeside(t *testing.T, id parley.ID) parley.ID {
	t.Helper()
	owner, session := h.ownerOf(t, id)
	run, _, err := h.StartPipelineRun(t.Context(), owner, engine.PipelineInput{
		Name: "x", Visibility: session.Visibility,
		Nodes: []engine.PipelineNodeInput{
			{
				Name:         "a",
				Instructions: "x",
				Outputs:      []engine.PipelineTargetInput{{Kind: parley.ArtifactText, Title: "x"}},
			},
		},
	}, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	return run.ID
}

// ownerOf returns the owner of a session, as a member.
func (h *house) ownerOf(t *testing.T, id parley.ID) (parley.Principal, parley.Session) {
	t.Helper()
	session, err := h.Session(t.Context(), h.admin, id)
	if err != nil {
		t.Fatal(err)
	}
	return parley.Principal{ID: session.OwnerID, WorkspaceID: session.WorkspaceID, Role: parley.RoleMember}, session
}

// transformIn returns a new transform of a session's owner, which is as visible as the session.
func (h *house) transformIn(t *testing.T, id parley.ID) parley.ID {
	t.Helper()
	owner, session := h.ownerOf(t, id)
	made, _, err := h.RunTransform(t.Context(), owner, engine.RunTransformInput{
		Name: "x", Instructions: "x", Visibility: session.Visibility,
		Outputs: []engine.TransformWriteInput{{Kind: parley.ArtifactText}},
	}, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// definitionFor returns a new definition of a session's owner.
func (h *house) definitionFor(t *testing.T, id parley.ID) string {
	t.Helper()
	owner, _ := h.ownerOf(t, id)
	made, _, err := h.CreateTransformDefinition(t.Context(), owner, engine.DefinitionInput{
		Name: "of " + parley.NewID().String()[24:], Instructions: "x",
		Outputs: []engine.DefinedOutputInput{{Kind: parley.ArtifactText}},
	}, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	return made.ID.String()
}

// agentFor returns a new agent of a session's owner.
func (h *house) agentFor(t *testing.T, id parley.ID) string {
	t.Helper()
	session, err := h.Session(t.Context(), h.admin, id)
	if err != nil {
		t.Fatal(err)
	}
	owner := parley.Principal{ID: session.OwnerID, WorkspaceID: session.WorkspaceID, Role: parley.RoleMember}
	agent, _, err := h.CreateAgent(
		t.Context(),
		owner,
		engine.AgentInput{Name: "of " + parley.NewID().String()[24:]},
		store.Idempotency{},
	)
	if err != nil {
		t.Fatal(err)
	}
	return agent.ID.String()
}

// TestRolesAndVerbs compares the table of verbs and roles with what happens: on the member's own session, on the same
// one by another member, and shared.
func TestRolesAndVerbs(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	ctx := t.Context()
	type call func(principal parley.Principal, session parley.ID) error
	calls := map[engine.Verb]call{
		engine.ReadAgents: func(p parley.Principal, _ parley.ID) error {
			_, err := h.Agent(ctx, p, "parley")
			return err
		},
		engine.WriteAgents: func(p parley.Principal, s parley.ID) error {
			_, err := h.UpdateAgent(
				ctx,
				p,
				h.agentFor(t, s),
				engine.AgentPatch{Description: parley.Change[string]{Set: true, Value: "x"}},
			)
			return err
		},
		engine.GrantAgents: func(p parley.Principal, s parley.ID) error {
			_, err := h.UpdateAgent(
				ctx,
				p,
				h.agentFor(t, s),
				engine.AgentPatch{
					SettingsPatch: parley.SettingsPatch{Grants: parley.Change[*[]parley.Grant]{Set: true}},
				},
			)
			return err
		},
		engine.ReadSessions: func(p parley.Principal, s parley.ID) error {
			_, err := h.Messages(ctx, p, s, engine.MessageList{})
			return err
		},
		engine.ReadInbox: func(p parley.Principal, _ parley.ID) error {
			_, err := h.Inbox(ctx, p, engine.InboxList{})
			return err
		},
		engine.OpenSessions: func(p parley.Principal, _ parley.ID) error {
			_, err := h.OpenSession(ctx, p, engine.SessionInput{}, store.Idempotency{})
			return err
		},
		engine.PostMessages: func(p parley.Principal, s parley.ID) error {
			no := false
			_, err := h.PostMessage(
				ctx,
				p,
				s,
				engine.MessageInput{Content: text("x"), Respond: &no},
				store.Idempotency{},
			)
			return err
		},
		engine.CancelTurns: func(p parley.Principal, s parley.ID) error {
			_, err := h.Cancel(ctx, p, s, engine.CancelInput{})
			if parley.ErrorCode(err) == parley.CodeNothingToCancel {
				return nil // allowed, but nothing ever ran
			}
			return err
		},
		engine.PatchSessions: func(p parley.Principal, s parley.ID) error {
			_, err := h.UpdateSession(
				ctx,
				p,
				s,
				engine.SessionPatch{Title: parley.Change[string]{Set: true, Value: "t"}},
			)
			return err
		},
		engine.GrantSessions: func(p parley.Principal, s parley.ID) error {
			_, err := h.UpdateSession(
				ctx,
				p,
				s,
				engine.SessionPatch{
					SettingsPatch: parley.SettingsPatch{Grants: parley.Change[*[]parley.Grant]{Set: true}},
				},
			)
			return err
		},
		engine.ShareSessions: func(p parley.Principal, s parley.ID) error {
			session, err := h.Session(ctx, h.admin, s)
			if err != nil {
				return err
			}
			flipped := parley.VisibilityPrivate
			if session.Visibility == parley.VisibilityPrivate {
				flipped = parley.VisibilityWorkspace
			}
			if _, err = h.UpdateSession(
				ctx,
				p,
				s,
				engine.SessionPatch{Visibility: parley.Change[parley.Visibility]{Set: true, Value: flipped}},
			); err != nil {
				return err
			}
			_, err = h.UpdateSession(
				ctx,
				h.admin,
				s,
				engine.SessionPatch{Visibility: parley.Change[parley.Visibility]{Set: true, Value: session.Visibility}},
			)
			return err
		},
		engine.ShareForReading: func(p parley.Principal, s parley.ID) error {
			own, err := h.OpenSession(
				ctx,
				h.admin,
				engine.SessionInput{Visibility: parley.VisibilityWorkspace},
				store.Idempotency{},
			)
			if err != nil {
				return err
			}
			if _, _, err = h.ShareSession(ctx, p, s, own.Session.ID); err != nil {
				return err
			}
			return h.UnshareSession(ctx, p, s, own.Session.ID)
		},
		engine.DropSessions: func(p parley.Principal, s parley.ID) error { return h.DeleteSession(ctx, p, s) },
		engine.ReadProjects: func(p parley.Principal, _ parley.ID) error {
			_, err := h.Projects(ctx, p, engine.Paging{})
			return err
		},
		engine.WriteProjects: func(p parley.Principal, _ parley.ID) error {
			_, _, err := h.ChooseProject(ctx, p, engine.ProjectInput{Path: h.root})
			return err
		},
		engine.DropProjects: func(p parley.Principal, _ parley.ID) error {
			err := h.DeleteProject(ctx, p, parley.NewID(), engine.Detach)
			if parley.ErrorCode(err) == parley.CodeNotFound {
				return nil // allowed, but there is none
			}
			return err
		},
		engine.AnswerApprovals: func(p parley.Principal, s parley.ID) error {
			_, err := h.Decide(ctx, p, h.asked(t, s), engine.DecisionInput{Decision: parley.DecideApprove})
			return err
		},
		engine.AnswerInbox: func(p parley.Principal, _ parley.ID) error {
			_, err := h.AnswerInboxItem(ctx, p, parley.NewID(), engine.InboxAnswerInput{Text: "x"})
			if parley.ErrorCode(err) == parley.CodeNotFound {
				return nil // allowed, but nobody asked
			}
			return err
		},
		engine.ReadWorkspace: func(p parley.Principal, _ parley.ID) error {
			_, err := h.Workspace(ctx, p)
			return err
		},
		engine.WriteWorkspace: func(p parley.Principal, _ parley.ID) error {
			_, err := h.UpdateWorkspace(ctx, p, engine.WorkspacePatch{})
			return err
		},
		engine.ReadCache: func(p parley.Principal, _ parley.ID) error {
			_, err := h.ResponseCache(ctx, p)
			return err
		},
		engine.ClearCache: func(p parley.Principal, _ parley.ID) error { return h.ClearResponseCache(ctx, p) },
		engine.ReadAudit: func(p parley.Principal, _ parley.ID) error {
			_, err := h.Audit(ctx, p, engine.AuditList{})
			return err
		},
		engine.ReadFiles: func(p parley.Principal, s parley.ID) error {
			_, err := h.File(ctx, p, h.fileIn(t, s))
			return err
		},
		engine.WriteFiles: func(p parley.Principal, _ parley.ID) error {
			_, _, err := h.UploadFile(ctx, p, "a.txt", strings.NewReader("x"))
			return err
		},
		engine.DropFiles: func(p parley.Principal, s parley.ID) error {
			err := h.DeleteFile(ctx, p, h.fileIn(t, s))
			if parley.ErrorCode(err) == parley.CodeConflict {
				return nil // allowed, but it is in use
			}
			return err
		},
		engine.ReadArtifacts: func(p parley.Principal, s parley.ID) error {
			_, err := h.Artifact(ctx, p, h.artifactIn(t, s))
			return err
		},
		engine.WriteArtifacts: func(p parley.Principal, s parley.ID) error {
			_, err := h.UpdateArtifact(ctx, p, h.artifactIn(t, s), engine.ArtifactPatch{})
			return err
		},
		engine.DropArtifacts: func(p parley.Principal, s parley.ID) error {
			return h.DeleteArtifact(ctx, p, h.artifactIn(t, s))
		},
		engine.ReadTransforms: func(p parley.Principal, s parley.ID) error {
			_, err := h.Transform(ctx, p, h.transformIn(t, s))
			return err
		},
		engine.RunTransforms: func(p parley.Principal, s parley.ID) error {
			_, _, err := h.RetryTransform(ctx, p, h.transformIn(t, s), store.Idempotency{})
			if parley.ErrorCode(err) == parley.CodeConflict {
				return nil // allowed, but it has not failed
			}
			return err
		},
		engine.StopTransforms: func(p parley.Principal, s parley.ID) error {
			_, err := h.CancelTransform(ctx, p, h.transformIn(t, s))
			if code := parley.ErrorCode(err); code == parley.CodeConflict || code == parley.CodeNothingToCancel {
				return nil // allowed, but there is nothing to stop
			}
			return err
		},
		engine.SetTransforms: func(p parley.Principal, s parley.ID) error {
			_, err := h.UpdateTransformDefinition(ctx, p, h.definitionFor(t, s), engine.DefinitionPatch{})
			return err
		},
		engine.ReadPipelines: func(p parley.Principal, s parley.ID) error {
			_, err := h.PipelineRun(ctx, p, h.runBeside(t, s))
			return err
		},
		engine.RunPipelines: func(p parley.Principal, s parley.ID) error {
			_, err := h.CancelPipelineRun(ctx, p, h.runBeside(t, s))
			return err
		},
		engine.ReadWebhooks: func(p parley.Principal, _ parley.ID) error {
			_, err := h.Webhooks(ctx, p, engine.Paging{})
			return err
		},
		engine.WriteWebhooks: func(p parley.Principal, _ parley.ID) error {
			err := h.DeleteWebhook(ctx, p, parley.NewID())
			if parley.ErrorCode(err) == parley.CodeNotFound {
				return nil // allowed, but there is none
			}
			return err
		},
		engine.ReadToolServers: func(p parley.Principal, _ parley.ID) error {
			_, err := h.ToolServerResources(ctx, p, "none", "", engine.Paging{})
			if parley.ErrorCode(err) == parley.CodeNotFound {
				err = nil
			}
			return err
		},
		engine.AuthorizeTools: func(p parley.Principal, _ parley.ID) error {
			err := h.ForgetToolServer(ctx, p, "none")
			if parley.ErrorCode(err) == parley.CodeNotFound {
				err = nil
			}
			return err
		},
		engine.ReadTools: func(p parley.Principal, _ parley.ID) error {
			_, err := h.Tools(ctx, p, engine.Paging{})
			return err
		},
		engine.ReadModels: func(p parley.Principal, _ parley.ID) error {
			_, err := h.Models(ctx, p, engine.Paging{})
			return err
		},
		engine.SetClients: func(p parley.Principal, s parley.ID) error { return h.SetClientSession(ctx, p, "tab", s) },
		engine.ReadKeys:   func(p parley.Principal, _ parley.ID) error { _, err := h.Keys(ctx, p); return err },
		engine.WriteKeys: func(p parley.Principal, _ parley.ID) error {
			_, err := h.CreateKey(ctx, p, engine.KeyInput{Name: parley.NewID().String()})
			return err
		},
		engine.ReadSignIns: func(p parley.Principal, _ parley.ID) error { _, err := h.SignIns(ctx, p); return err },
		engine.EndSignIns: func(p parley.Principal, _ parley.ID) error {
			err := h.EndSignIn(ctx, p, parley.NewID())
			if parley.ErrorCode(err) == parley.CodeNotFound {
				return nil // allowed, but there is none
			}
			return err
		},
		engine.ReadMetrics: func(p parley.Principal, _ parley.ID) error { return h.AdmitMetrics(ctx, p) },
		engine.ReadRaw:     func(p parley.Principal, s parley.ID) error { return h.AdmitRaw(ctx, p, s) },
	}
	// expect returns the code of a verb with a reach, on a session that the principal owns, sees, or does not see.
	// Verbs without a session ignore it.
	expect := func(reach engine.Reach, owns, sees bool) parley.Code {
		switch {
		case reach == engine.ReachNone:
			return parley.CodeForbidden
		case reach == engine.ReachAll || owns:
			return ""
		case !sees:
			return parley.CodeNotFound
		case reach == engine.ReachOwn:
			return parley.CodeForbidden
		}
		return ""
	}
	for _, row := range engine.Permissions() {
		act := calls[row.Verb]
		if act == nil {
			t.Errorf("%s is in the table and not in this test", row.Verb)
			continue
		}
		for _, visibility := range []parley.Visibility{parley.VisibilityPrivate, parley.VisibilityWorkspace} {
			shared := visibility == parley.VisibilityWorkspace
			for _, who := range []struct {
				name      string
				principal parley.Principal
				reach     engine.Reach
				owns      bool
			}{
				{"reader", h.reader, row.Reader, false},
				{"other member", h.other, row.Member, false},
				{"owner", h.member, row.Member, true},
				{"admin", h.admin, row.Admin, false},
			} {
				session := h.open(t, engine.SessionInput{Visibility: visibility})
				agents := row.Verb == engine.WriteAgents || row.Verb == engine.GrantAgents      // everybody sees agents
				signIns := row.Verb == engine.ReadSignIns || row.Verb == engine.EndSignIns      // there are none
				webhooks := row.Verb == engine.ReadWebhooks || row.Verb == engine.WriteWebhooks // nor these
				// everybody sees definitions
				defined := row.Verb == engine.SetTransforms
				want := expect(who.reach, who.owns, shared || agents || signIns || webhooks || defined)
				if err := act(who.principal, session.ID); parley.ErrorCode(err) != want {
					t.Errorf("%s by %s on a %s session: %v, want %q", row.Verb, who.name, visibility, err, want)
				}
			}
		}
		if err := act(
			parley.Principal{},
			h.open(t, engine.SessionInput{}).ID,
		); parley.ErrorCode(
			err,
		) != parley.CodeUnauthenticated {
			t.Errorf("%s by nobody: %v", row.Verb, err)
		}
	}
	if len(calls) != len(engine.Permissions()) {
		t.Errorf("the test has %d verbs, the table %d", len(calls), len(engine.Permissions()))
	}
	wantCode(
		t,
		h.DeleteProject(context.Background(), h.member, parley.NewID(), engine.Cascade),
		parley.CodeForbidden,
		"",
	)
}

// Resources of another workspace do not exist.
func TestOtherWorkspaces(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nobody)
	ctx := t.Context()
	key, err := h.CreateKeyIn(ctx, "elsewhere", engine.KeyInput{Name: "stranger"})
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := h.Authenticate(ctx, key.Secret)
	if err != nil {
		t.Fatal(err)
	}
	session := h.open(t, engine.SessionInput{Visibility: parley.VisibilityWorkspace})
	posted := h.post(t, session.ID, say("secret"))
	agent, _, err := h.CreateAgent(ctx, h.member, engine.AgentInput{Name: "Ours"}, store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	for name, act := range map[string]func() error{
		"session":  func() error { _, err := h.Session(ctx, stranger, session.ID); return err },
		"messages": func() error { _, err := h.Messages(ctx, stranger, session.ID, engine.MessageList{}); return err },
		"ids": func() error {
			_, err := h.MessageIDs(ctx, stranger, session.ID, engine.MessageList{})
			return err
		},
		"message": func() error { _, err := h.Message(ctx, stranger, posted.Message.ID); return err },
		"turn":    func() error { _, err := h.Turn(ctx, stranger, posted.Turn.ID); return err },
		"turns":   func() error { _, err := h.Turns(ctx, stranger, session.ID, engine.TurnList{}); return err },
		"calls":   func() error { _, err := h.Calls(ctx, stranger, session.ID, engine.CallList{}); return err },
		"events":  func() error { _, err := h.Events(ctx, stranger, session.ID, 0, 0); return err },
		"watch":   func() error { _, err := h.AdmitWatcher(ctx, stranger, session.ID); return err },
		"post": func() error {
			_, err := h.PostMessage(ctx, stranger, session.ID, say("x"), store.Idempotency{})
			return err
		},
		"cancel": func() error {
			_, err := h.Cancel(ctx, stranger, session.ID, engine.CancelInput{})
			return err
		},
		"remove":        func() error { _, err := h.RemoveMessage(ctx, stranger, posted.Message.ID); return err },
		"delete":        func() error { return h.DeleteSession(ctx, stranger, session.ID) },
		"client":        func() error { return h.SetClientSession(ctx, stranger, "tab", session.ID) },
		"agent by id":   func() error { _, err := h.Agent(ctx, stranger, agent.ID.String()); return err },
		"agent by slug": func() error { _, err := h.Agent(ctx, stranger, "ours"); return err },
		"session filter": func() error {
			_, err := h.Sessions(ctx, stranger, engine.SessionList{Agents: []string{"ours"}})
			return err
		},
		"agent of session": func() error {
			_, err := h.OpenSession(ctx, stranger, engine.SessionInput{AgentID: agent.ID.String()}, store.Idempotency{})
			return err
		},
		"parent": func() error {
			_, err := h.OpenSession(ctx, stranger, engine.SessionInput{ParentSessionID: session.ID},
				store.Idempotency{})
			return err
		},
		"lead": func() error {
			_, _, err := h.CreateAgent(ctx, stranger, engine.AgentInput{Name: "Theirs", LeadID: agent.ID.String()},
				store.Idempotency{})
			return err
		},
	} {
		if err := act(); parley.ErrorCode(err) != parley.CodeNotFound {
			t.Errorf("%s across workspaces: %v, want not_found", name, err)
		}
	}
}
