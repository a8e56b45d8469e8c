package lint

// Probes returns the commands that Rules tries, for a test that compares them with callgate's knowledge of commands.
func Probes() (lossy, interpreting []string) {
	return commands(lossyProbes), commands(interpretingProbes)
}

func commands(probes []probe) (list []string) {
	for _, p := range probes {
		list = append(list, p.command)
	}
	return list
}
