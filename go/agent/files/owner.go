package files

import (
	"net/url"
	"os/user"
	"strconv"

	"mayfly/agent/answer"
)

type owner struct{ uid, gid int }

// ownerAsked returns the owner of a request; nil when it names none.
func ownerAsked(query url.Values, loginUser string) (*owner, error) {
	userName, groupName := query.Get("user"), query.Get("group")
	if userName == "" && groupName == "" {
		return nil, nil
	}
	if userName == "" {
		userName = loginUser
	}
	o, err := ownerNamed(userName)
	if err != nil {
		return nil, err
	}
	if groupName != "" {
		if o.gid, err = groupNamed(groupName); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// ownerNamed returns a user, by name or number, with its own group.
func ownerNamed(name string) (*owner, error) {
	found, err := user.Lookup(name)
	if err != nil {
		found, err = user.LookupId(name)
	}
	if err != nil {
		return nil, answer.Refused("invalid_request", "`user`: the guest has no user %q.", name)
	}
	uid, uidErr := strconv.Atoi(found.Uid)
	gid, gidErr := strconv.Atoi(found.Gid)
	if uidErr != nil || gidErr != nil {
		return nil, answer.Refused("invalid_request", "`user`: the guest's user %q has no usable numbers.", name)
	}
	return &owner{uid, gid}, nil
}

func groupNamed(name string) (int, error) {
	found, err := user.LookupGroup(name)
	if err != nil {
		found, err = user.LookupGroupId(name)
	}
	if err == nil {
		if gid, err := strconv.Atoi(found.Gid); err == nil {
			return gid, nil
		}
	}
	return 0, answer.Refused("invalid_request", "`group`: the guest has no group %q.", name)
}
