# SPDX-License-Identifier: Apache-2.0
# Conan 2: conan create packaging/conan --build=missing
# glslangValidator and spirv-val are taken from the system (Debian: glslang-tools, spirv-tools).
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

TREE = os.path.join("..", "..")
SOURCES = ["CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "packaging/*", "runtime/*", "shaders/*"]


class Saccade(ConanFile):
    name = "saccade"
    description = "Attention for Vulkan: recorded into a host's command buffers, or run by a standalone runtime"
    license = "Apache-2.0"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "runtime": [True, False]}
    default_options = {"shared": False, "runtime": True}

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, TREE, "include", "saccade", "saccade.h"))
        self.version = ".".join(re.findall(r"#define SACCADE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))

    def export_sources(self):
        for pattern in SOURCES:
            copy(self, pattern, os.path.join(self.recipe_folder, TREE), self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Saccade is built and tested on Linux")

    def requirements(self):
        self.requires("vulkan-headers/[>=1.3.275]", transitive_headers=True)
        # Used as headers, and not by the headers of Saccade.
        self.requires("nlohmann_json/[>=3.11 <4]", visible=False)
        self.requires("stb/[*]", visible=False)
        if self.options.runtime:
            self.requires("fmt/[>=10 <12]", visible=False)
            self.requires("vulkan-memory-allocator/[>=3.1 <4]", visible=False)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["SACCADE_BUILD_RUNTIME"] = bool(self.options.runtime)
        for part in ("TOOL", "TESTS", "EXAMPLES", "BENCH"):
            toolchain.cache_variables[f"SACCADE_BUILD_{part}"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        # Conan writes these itself, from package_info.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))
        rmdir(self, os.path.join(self.package_folder, "share"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "saccade")
        core = self.cpp_info.components["core"]
        core.set_property("cmake_target_name", "saccade::saccade")
        core.set_property("pkg_config_name", "saccade")
        core.libs = ["saccade"]
        core.requires = ["vulkan-headers::vulkan-headers"]
        core.system_libs = ["m", "pthread"]
        if self.options.shared:
            core.defines = ["SACCADE_SHARED"]
        if self.options.runtime:
            runtime = self.cpp_info.components["runtime"]
            runtime.set_property("cmake_target_name", "saccade::runtime")
            runtime.set_property("pkg_config_name", "saccade-runtime")
            runtime.libs = ["saccade-runtime"]
            runtime.requires = ["core"]
            runtime.system_libs = ["dl"]
