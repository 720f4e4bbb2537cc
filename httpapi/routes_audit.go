package httpapi

import (
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
)

// auditRoutes returns the routes that show who did what, and verify the store.
func auditRoutes() []route {
	return []route{
		{
			method: http.MethodGet,
			paths:  []string{"/v1/audit"},
			name:   "listAudit",
			tag:    "audit",
			verb:   engine.ReadAudit,
			says:   "List who did what",
			about: "Newest first, about a second behind. Every request that reads or writes is here but for lists " +
				"of models and tools; no content is. For admins.",
			query: with(
				paging(),
				id("session_id", "Only what concerns this session, though it be deleted."),
				id("principal_id", "Only what this principal did."),
				flag("changes", "true: without what only reads, watches or tells what a window has open."),
			),
			serve:   serveAudit,
			answers: listed[parley.AuditEntry](auditExample),
		},
		{
			method: http.MethodGet,
			paths:  []string{"/v1/audit/anchor"},
			name:   "getAnchor",
			tag:    "audit",
			verb:   engine.ReadAudit,
			says:   "Name the end of the audit's chain",
			about: "The number and hash of the latest link, of all workspaces together. Kept elsewhere, it shows " +
				"later whether the chain up to there is still the same. For admins.",
			serve:   serveAnchor,
			answers: found[parley.Anchor]("The latest link; number 0 while there is none.", anchorExample),
		},
		{
			method: http.MethodPost,
			paths:  []string{"/v1/verify"},
			name:   "verify",
			tag:    "audit",
			verb:   engine.ReadAudit,
			local:  true,
			says:   "Verify the store, step by step",
			about: "Makes the next small step: the database's pages, every record, the files, and the audit with " +
				"its chain. Send what next says as place, until done. For the machine's own user alone, by the local " +
				"token; parley verify does it.",
			input: inputOf[verifyInput](
				`{"place":""}`,
			),
			serve:   serveVerify,
			answers: found[parley.VerifyStep]("What the step found, and where the next one begins.", verifyExample),
		},
	}
}
