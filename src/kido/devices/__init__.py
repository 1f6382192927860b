"""Devices: motors, drives, sensors, wheels and thrusters as models of `kido.systems`."""

from kido.devices.air import Parachute, Propeller
from kido.devices.cables import Cable, Rigging, Winch
from kido.devices.drives import PID, Gear, JointFriction, Servo
from kido.devices.motors import BrushlessMotor, DCMotor, FieldControl, Winding
from kido.devices.navigation import GPS, IMU, Altimeter, StarTracker, SunSensor
from kido.devices.power import Battery
from kido.devices.sensors import (
    Encoder,
    ForceSensor,
    ForceTorqueSensor,
    Potentiometer,
    Sensor,
    Tachometer,
    TorqueSensor,
)
from kido.devices.soil import Soil, SoilContact, SoilTrack, SoilWheel
from kido.devices.spacecraft import ControlMomentGyro, ReactionWheel, Thruster
from kido.devices.steering import Ackermann, DeadReckoning, EnergyMeter, PurePursuit, WheelDrive
from kido.devices.tanks import Slosh, SloshTank, slosh
from kido.devices.tracks import BeltTrack
from kido.devices.vision import ImageSensor, Lidar
from kido.devices.wheels import WheelContact, WheelOnSoil

__all__ = [
    "GPS",
    "IMU",
    "PID",
    "Ackermann",
    "Altimeter",
    "Battery",
    "BeltTrack",
    "BrushlessMotor",
    "Cable",
    "ControlMomentGyro",
    "DCMotor",
    "DeadReckoning",
    "Encoder",
    "EnergyMeter",
    "FieldControl",
    "ForceSensor",
    "ForceTorqueSensor",
    "Gear",
    "ImageSensor",
    "JointFriction",
    "Lidar",
    "Parachute",
    "Potentiometer",
    "Propeller",
    "PurePursuit",
    "ReactionWheel",
    "Rigging",
    "Sensor",
    "Servo",
    "Slosh",
    "SloshTank",
    "Soil",
    "SoilContact",
    "SoilTrack",
    "SoilWheel",
    "StarTracker",
    "SunSensor",
    "Tachometer",
    "Thruster",
    "TorqueSensor",
    "WheelContact",
    "WheelDrive",
    "WheelOnSoil",
    "Winch",
    "Winding",
    "slosh",
]
