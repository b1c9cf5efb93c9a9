{
  description = "An MCP server whose tools, prompts and resources are sandboxed WebAssembly components";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      workspace = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package;
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      forEach = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = forEach (pkgs: rec {
        wharf = pkgs.rustPlatform.buildRustPackage {
          pname = "wharf-mcp";
          inherit (workspace) version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [
            "--package"
            "wharf-mcp"
          ];
          # They need compilers of other languages, and the network.
          doCheck = false;
          postInstall = ''
            mkdir -p $out/share/wharf
            cp -r plugins/prebuilt $out/share/wharf/plugins
          '';
          meta = {
            description = "An MCP server whose tools, prompts and resources are sandboxed WebAssembly components";
            license = with pkgs.lib.licenses; [
              asl20
              llvm-exception
            ];
            mainProgram = "wharf";
          };
        };
        default = wharf;
      });
    };
}
