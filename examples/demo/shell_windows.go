package main

import "os/exec"

// ownGroup leaves cmd as it is: ending it ends the shell, and cmd.WaitDelay gives up on what the shell left running.
func ownGroup(*exec.Cmd) {}
