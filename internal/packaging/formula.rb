class Callgate < Formula
  desc "Gate every tool call of an LLM host"
  homepage "https://{{ .Address }}"
  version "{{ .Version }}"
  license "Apache-2.0"

  on_macos do
    on_arm do
      {{ archive "darwin" "arm64" }}
    end
    on_intel do
      {{ archive "darwin" "amd64" }}
    end
  end

  on_linux do
    on_arm do
      {{ archive "linux" "arm64" }}
    end
    on_intel do
      {{ archive "linux" "amd64" }}
    end
  end

  def install
    bin.install "callgate"
    man1.install Dir["man/*"]
    bash_completion.install "completions/callgate.bash" => "callgate"
    zsh_completion.install "completions/callgate.zsh" => "_callgate"
    fish_completion.install "completions/callgate.fish"
  end

  service do
    run [opt_bin/"callgate", "hub"]
    keep_alive crashed: true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/callgate --version")
  end
end
