package guard

import (
	"fmt"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

var createRestrictedToken = windows.NewLazySystemDLL("advapi32.dll").NewProc("CreateRestrictedToken")

// start starts cmd with a restricted token. A token hides no files, so it does not satisfy Require.
func (w *Wall) start(cmd *exec.Cmd, start func(*exec.Cmd) error) (State, error) {
	if w.Mode == Require {
		return State{Kind: None, Why: "a restricted token hides no files from programs of the same user"}, nil
	}
	token, err := restricted().token()
	if err != nil {
		return State{Kind: None, Why: err.Error()}, start(cmd)
	}
	defer token.Close()
	attr := syscall.SysProcAttr{}
	if cmd.SysProcAttr != nil {
		attr = *cmd.SysProcAttr
	}
	attr.Token = syscall.Token(token)
	cmd.SysProcAttr = &attr
	return State{Kind: Token}, start(cmd)
}

// token returns a copy of callgate's own token without what r takes away. The caller closes it.
func (r restriction) token() (windows.Token, error) {
	var own windows.Token
	err := windows.OpenProcessToken(windows.CurrentProcess(), windows.TOKEN_DUPLICATE|windows.TOKEN_ASSIGN_PRIMARY|windows.TOKEN_QUERY|windows.TOKEN_ADJUST_DEFAULT, &own)
	if err != nil {
		return 0, fmt.Errorf("open the token: %w", err)
	}
	defer own.Close()
	groups := make([]windows.SIDAndAttributes, 0, len(r.groups))
	for _, name := range r.groups {
		sid, err := windows.StringToSid(name)
		if err != nil {
			return 0, fmt.Errorf("group %s: %w", name, err)
		}
		groups = append(groups, windows.SIDAndAttributes{Sid: sid})
	}
	var token windows.Token
	ok, _, err := createRestrictedToken.Call(uintptr(own), uintptr(r.flags), uintptr(len(groups)), uintptr(unsafe.Pointer(unsafe.SliceData(groups))), 0, 0, 0, 0, uintptr(unsafe.Pointer(&token)))
	if ok == 0 {
		return 0, fmt.Errorf("restrict the token: %w", err)
	}
	return token, nil
}
