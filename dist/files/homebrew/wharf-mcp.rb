# Written by dist/package.py for each release.
class WharfMcp < Formula
  desc "${desc}"
  homepage "${repository}"
  version "${version}"
  license "Apache-2.0" => { with: "LLVM-exception" }

  on_macos do
    on_arm do
      url "${url_aarch64_apple_darwin}"
      sha256 "${sha_aarch64_apple_darwin}"
    end
    on_intel do
      url "${url_x86_64_apple_darwin}"
      sha256 "${sha_x86_64_apple_darwin}"
    end
  end

  on_linux do
    on_arm do
      url "${url_aarch64_unknown_linux_musl}"
      sha256 "${sha_aarch64_unknown_linux_musl}"
    end
    on_intel do
      url "${url_x86_64_unknown_linux_musl}"
      sha256 "${sha_x86_64_unknown_linux_musl}"
    end
  end

  def install
    prefix.install "bin", "share"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/wharf --version")
    assert_match "8f434346", shell_output("#{bin}/wharf-mcp call #{share}/wharf/plugins text_hash text=hi")
  end
end
