package httpapi

import (
	"net/http"

	"example.org/parley/engine"
)

func serveListTeams(a *api, x *exchange) error {
	args := x.arguments()
	list := engine.TeamList{Paging: args.paging(), Owners: words[string](args, "owner")}
	if args.err != nil {
		return args.err
	}
	teams, err := a.engine.Teams(x.r.Context(), x.principal, list)
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, teams)
}

func serveTeam(a *api, x *exchange) error {
	team, err := a.engine.Team(x.r.Context(), x.principal, x.r.PathValue("lead"))
	if err != nil {
		return err
	}
	return sendJSON(x, http.StatusOK, team)
}

func serveEnsureExampleTeam(a *api, x *exchange) error {
	team, made, err := a.engine.EnsureExampleTeam(x.r.Context(), x.principal)
	if err != nil {
		return err
	}
	x.w.Header().Set("Location", "/v1/teams/"+team.LeadID.String())
	status := http.StatusOK
	if made {
		status = http.StatusCreated
	}
	return sendJSON(x, status, team)
}

func serveForegroundSession(a *api, x *exchange) error {
	session, created, err := a.engine.ForegroundSession(x.r.Context(), x.principal, x.r.PathValue("agent"))
	if err != nil {
		return err
	}
	x.w.Header().Set("Location", "/v1/sessions/"+session.ID.String())
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return x.sendSession(status, &session)
}

func serveBackgroundSession(a *api, x *exchange) error {
	session, err := a.engine.BackgroundSession(x.r.Context(), x.principal, x.r.PathValue("agent"))
	if err != nil {
		return err
	}
	return x.sendSession(http.StatusOK, &session)
}
